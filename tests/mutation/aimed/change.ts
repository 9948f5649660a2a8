/** A defect that a person chose: it breaks one promise, and the named tests fail. */
export interface Change {
  /** Source file, from the root of the project. */
  readonly file: string
  /** Exact text that is once in the file. */
  readonly from: string
  readonly to: string
  /** The promise that does not hold any more, as a sentence. */
  readonly breaks: string
  /** Test files that fail, from the root of the project. They run in the process of the test runner. */
  readonly tests: readonly string[]
}

/** @throws Error if the text to replace is not in the source exactly once, or if nothing would change */
export function applyChange(source: string, { file, from, to }: Change): string {
  const parts = source.split(from)
  if (parts.length !== 2)
    throw new Error(`${file} contains ${JSON.stringify(from)} ${parts.length - 1} times, not once`)
  if (from === to) throw new Error(`${file}: ${JSON.stringify(from)} is replaced by itself`)
  return parts.join(to)
}
