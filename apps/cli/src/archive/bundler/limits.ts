/** Limits of one build: a folder may be of anyone. */
export interface BuildLimits {
  readonly modules: number
  /** Bytes of all modules together. */
  readonly sourceBytes: number
  /** Characters of a source map; a larger one is left out. */
  readonly mapChars: number
  /** Resident bytes of the process that bundles. */
  readonly memoryBytes: number
  readonly timeoutMs: number
}

const megabyte = 1024 * 1024

export const buildLimits: BuildLimits = {
  modules: 10_000,
  sourceBytes: 64 * megabyte,
  mapChars: 3 * megabyte,
  memoryBytes: 1536 * megabyte,
  timeoutMs: 60_000,
}
