/**
 * What the fuzzer needs to know of one parser. A target feeds bytes to the real parser and tells how it ended: an exception that
 * is not one of the parser's declared refusals is a finding.
 */
import type { Random } from './random.ts'

/** Changes an input in a way that keeps its structure: a length field, a digest, a pointer. */
export type Mutator = (input: Buffer, random: Random) => Buffer

/**
 * How the parser ended, in a few words: a new wording makes the input a seed for more. `work` is the number of bytes that the
 * parser had to look at, where that is more than the input: unpacked bytes, for example. `calls` is the number of pieces in
 * which it got them, or of files that it made: each has a cost of its own.
 */
type Outcome = string | { readonly outcome: string; readonly work?: number; readonly calls?: number }

export interface Parser {
  /** @throws anything that the parser must not throw */
  parse(input: Buffer): Outcome | Promise<Outcome>
  close?(): Promise<void>
}

export interface Target {
  /** As in `--target`, and the name of its file. */
  readonly name: string
  /** Source files that it exercises, from the root of the repository. */
  readonly covers: readonly string[]
  /** Valid inputs. At least one has 4 KiB or more, or is as large as the parser accepts: its cost per byte is the parser's usual one. */
  seeds(): readonly Buffer[] | Promise<readonly Buffer[]>
  /** Words of the format. */
  readonly words?: readonly string[]
  readonly mutators?: readonly Mutator[]
  /** Largest input that is tried, in bytes. Default 64 KiB. */
  readonly maxBytes?: number
  open(): Parser | Promise<Parser>
  /** For parsers of endless streams: what one reader keeps after a long stream is measured. */
  openStream?(): (chunk: Buffer) => void
}

/** A parser that did not refuse and did not do its work either: two readings of the same bytes that differ, for example. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise'
}

export function expectThat(holds: boolean, what: string): asserts holds {
  if (!holds) throw new BrokenPromise(what)
}

type ErrorClass = abstract new (...args: never[]) => Error

/** Runs a parser; its declared refusals are an outcome, everything else is thrown on. */
export function outcomeOf(parse: () => unknown, refusals: readonly ErrorClass[]): string {
  try {
    return accepted(parse())
  } catch (cause) {
    return refused(cause, refusals)
  }
}

/** The same for a parser that answers later. */
export async function outcomeOfLater(
  parse: () => Promise<unknown>,
  refusals: readonly ErrorClass[],
): Promise<string> {
  try {
    return accepted(await parse())
  } catch (cause) {
    return refused(cause, refusals)
  }
}

const accepted = (result: unknown): string => (typeof result === 'string' ? result : 'accepted')

/** The code of a refusal and its sentence without what it quotes. */
function refused(cause: unknown, refusals: readonly ErrorClass[]): string {
  if (!refusals.some((each) => cause instanceof each)) throw cause
  const { message, reason, code } = cause as Error & { reason?: string; code?: string }
  // An internal error is what the funnel makes of a failure, never a refusal of an input.
  if (reason === 'internal_error' || code === 'server_error') throw cause
  return `${reason ?? code ?? 'refused'} ${message}`
}
