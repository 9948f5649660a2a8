/** A group of files that are mutated together. */
export interface Group {
  readonly name: string
  /** Globs of sources, from the root of the project; tests are left out. */
  readonly sources: readonly string[]
  /** Globs of test files. */
  readonly tests: readonly string[]
}

/** Files with their tests beside them: `names` are paths below the folder, without an ending. */
export const beside = (name: string, folder: string, ...names: readonly string[]): Group => ({
  name,
  sources: names.map((each) => `${folder}/${each}.ts`),
  tests: names.map((each) => `${folder}/${each}.test.ts`),
})
