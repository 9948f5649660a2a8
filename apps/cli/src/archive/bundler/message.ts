/** What the process that bundles receives and sends. */
import type { Bundled } from './bundle.ts'
import type { BuildLimits } from './limits.ts'
import type { Problem } from './problem.ts'

export type BuildRequest = {
  readonly entry: string
  readonly limits: BuildLimits
} & (
  | { readonly folder: string }
  /** Bytes of a WebAssembly component, in place of the sources of a folder. */
  | { readonly component: Uint8Array }
)

export type BuildAnswer =
  | { readonly bundled: Bundled }
  | { readonly problem: Problem }
  /** This installation has no bundler. */
  | { readonly missing: string }

/** Exit code of a process that needed more memory than allowed. */
export const exitOutOfMemory = 75
