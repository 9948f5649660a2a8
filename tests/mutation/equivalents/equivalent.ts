/** A mutant that no test can notice, because the program behaves the same with and without it. */
export interface Equivalent {
  readonly file: string
  /** The source line on which the mutant begins, without its indentation. */
  readonly line: string
  /** As `npm run mutate` prints it: `original → replacement`. */
  readonly change: string
  readonly reason: string
}

/** Equivalent mutants of one file, as line, change and reason. */
export const of = (
  file: string,
  ...rows: readonly (readonly [line: string, change: string, reason: string])[]
): Equivalent[] => rows.map(([line, change, reason]) => ({ file, line, change, reason }))
