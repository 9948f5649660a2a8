/** What the mutants of a file came to. */
import type { Equivalent } from './equivalents/equivalent.ts'

/** As much of a mutant of Stryker's report as is used; lines and columns count from 1. */
export interface Mutant {
  readonly location: { readonly start: Position; readonly end: Position }
  readonly replacement?: string | undefined
  readonly status: string
  /** Whether it is in code that runs when its module is loaded. */
  readonly static?: boolean | undefined
  readonly statusReason?: string | undefined
}

interface Position {
  readonly line: number
  readonly column: number
}

export interface FileResult {
  readonly source: string
  readonly mutants: readonly Mutant[]
}

export interface Score {
  readonly file: string
  readonly mutants: number
  readonly killed: number
  readonly equivalent: number
  /** Each as it is named in the list of equivalents, with its line number. */
  readonly survivors: readonly (Omit<Equivalent, 'reason'> & { readonly at: number })[]
  /** Entries of the list of equivalents that a test kills, not only a time limit, or that match no mutant. */
  readonly stale: readonly Equivalent[]
}

/** A mutant that keeps a test file from loading has status RuntimeError, and is noticed like one that fails a test. */
const noticed = new Set(['Killed', 'Timeout', 'RuntimeError'])
/** Wording is ignored; source that does not compile is no mutant. */
const counted = new Set([...noticed, 'Survived', 'NoCoverage'])

/** Whether no test failed, or no test ran the code. */
export const isUnnoticed = ({ status }: Mutant): boolean => counted.has(status) && !noticed.has(status)

const maxShown = 100
const oneLine = (text: string): string => {
  const joined = text.replace(/\s+/g, ' ').trim()
  return joined.length > maxShown ? `${joined.slice(0, maxShown)} …` : joined
}

function nameOf(file: string, source: string, { location: { start, end }, replacement = '' }: Mutant) {
  const lines = source.split('\n')
  const part = lines.slice(start.line - 1, end.line)
  part[part.length - 1] = part.at(-1)!.slice(0, end.column - 1)
  part[0] = part[0]!.slice(start.column - 1)
  return {
    file,
    line: lines[start.line - 1]!.trim(),
    change: `${oneLine(part.join('\n'))} → ${oneLine(replacement)}`,
    at: start.line,
  }
}

export function scoreOf(
  file: string,
  { source, mutants }: FileResult,
  equivalents: readonly Equivalent[],
): Score {
  const all = mutants.filter(({ status }) => counted.has(status))
  const unnoticed = all.filter(isUnnoticed).map((mutant) => nameOf(file, source, mutant))
  const own = equivalents.filter((each) => each.file === file)
  const isSame = (one: Omit<Equivalent, 'reason'>, other: Omit<Equivalent, 'reason'>) =>
    one.line === other.line && one.change === other.change
  const excusable = all
    .filter((mutant) => isUnnoticed(mutant) || wasSlow(mutant))
    .map((mutant) => nameOf(file, source, mutant))
  const survivors = unnoticed.filter((each) => !own.some((known) => isSame(known, each)))
  return {
    file,
    mutants: all.length,
    killed: all.length - unnoticed.length,
    equivalent: unnoticed.length - survivors.length,
    survivors,
    stale: own.filter((known) => !excusable.some((each) => isSame(known, each))),
  }
}

/** Percentage of the mutants that are not equivalent that the tests notice, rounded down. */
export const percentOf = ({ mutants, killed, equivalent }: Score): number =>
  mutants === equivalent ? 100 : Math.floor((killed / (mutants - equivalent)) * 100)

/** Whether a mutant counts as noticed only because of a time limit, which a busy machine reaches, too. */
export const wasSlow = ({ status, statusReason = '' }: Mutant): boolean =>
  (status === 'Timeout' && !statusReason.includes('Hit limit')) ||
  (status === 'Killed' && /timed out in \d+ ?ms/i.test(statusReason))
