/** A value of a Compose file with its path and the report: what each reader of a key gets. */
import { below, type Report, shown } from './report.ts'
import { describeKind, isNull, type Place, type Tree } from './tree.ts'

export interface At {
  readonly tree: Tree
  readonly path: string
  readonly report: Report
}

/** A member of a mapping. */
export interface Member extends At {
  readonly name: string
  /** Where its key is. */
  readonly key: Place
}

export const problem = ({ tree, path, report }: At, message: string): undefined => {
  report.problem(tree.place, path, message)
  return undefined
}

export const note = ({ tree, path, report }: At, message: string): void =>
  report.note(tree.place, path, message)

/** @returns the members of a mapping; empty for null, and after a problem for another value */
export function membersOf(at: At, expected = 'a mapping'): Member[] {
  if (isNull(at.tree)) return []
  if (at.tree.kind !== 'map') {
    problem(at, `This is ${describeKind(at.tree)}. Write ${expected}.`)
    return []
  }
  return [...at.tree.entries].map(([name, { key, value }]) => ({
    name,
    key,
    tree: value,
    path: below(at.path, name),
    report: at.report,
  }))
}

/** @returns the items of a list; empty for null, and after a problem for another value */
export function itemsOf(at: At, expected = 'a list'): At[] {
  if (isNull(at.tree)) return []
  if (at.tree.kind !== 'list') {
    problem(at, `This is ${describeKind(at.tree)}. Write ${expected}.`)
    return []
  }
  return at.tree.items.map((tree, index) => ({ tree, path: below(at.path, index), report: at.report }))
}

/** A text without NUL; undefined after a problem. */
export function textOf(at: At, expected = 'a text'): string | undefined {
  if (at.tree.kind !== 'scalar' || at.tree.isNull)
    return problem(at, `This is ${describeKind(at.tree)}. Write ${expected}.`)
  if (at.tree.text.includes('\0')) return problem(at, 'The text has a NUL character. Remove it.')
  return at.tree.text
}

/** A text that a pattern accepts; undefined after a problem. */
export function matchOf(at: At, pattern: RegExp, expected: string): string | undefined {
  const text = textOf(at, expected)
  if (text === undefined) return undefined
  return pattern.test(text) ? text : problem(at, `${shown(text)} is not valid. Write ${expected}.`)
}

/** The words of YAML 1.1 count, too, as `docker compose` reads them. */
const flags: ReadonlyMap<string, boolean> = new Map(
  [
    ...(['true', 'yes', 'on', 'y'] as const).map((each) => [each, true] as const),
    ...(['false', 'no', 'off', 'n'] as const).map((each) => [each, false] as const),
  ].flatMap(([word, value]) => [[word, value] as const, [word.toUpperCase(), value] as const]),
)

export function flagOf(at: At): boolean | undefined {
  const text = textOf(at, 'true or false')
  if (text === undefined) return undefined
  return (
    flags.get(text) ??
    flags.get(text.toLowerCase()) ??
    problem(at, `${shown(text)} is not valid. Write true or false.`)
  )
}

/** A whole number in a range; undefined after a problem. */
export function wholeOf(at: At, min: number, max: number): number | undefined {
  const text = textOf(at, `a whole number from ${min} to ${max}`)
  if (text === undefined) return undefined
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max
    ? value
    : problem(at, `${shown(text)} is not valid. Write a whole number from ${min} to ${max}.`)
}

const unitSeconds: Readonly<Record<string, number>> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }

/** Seconds of a duration such as `1m30s`; undefined after a problem. */
export function secondsOf(at: At): number | undefined {
  const expected = 'a duration such as 30s or 1m30s'
  const text = matchOf(at, /^(?:\d{1,9}(?:\.\d{1,9})?(?:us|ms|s|m|h)){1,5}$|^0$/, expected)
  if (text === undefined) return undefined
  return [...text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(us|ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * unitSeconds[unit!]!,
    0,
  )
}

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
}
const bytesPattern = /^(\d{1,12}(?:\.\d{1,6})?)[ ]?(?:([kmgt])i?b?|b)?$/i

/** Bytes of a text such as `64m`; undefined for another text. */
export function readBytes(text: string): number | undefined {
  const [, count, unit = ''] = bytesPattern.exec(text) ?? []
  return count === undefined ? undefined : Math.ceil(Number(count) * unitBytes[unit.toLowerCase()]!)
}

/** Bytes of a size such as `64m`; undefined after a problem. */
export function bytesOf(at: At): number | undefined {
  const text = textOf(at, 'a size such as 64m')
  if (text === undefined) return undefined
  return readBytes(text) ?? problem(at, `${shown(text)} is not valid. Write a size such as 64m or 1g.`)
}

/** MiB of a size, rounded up; undefined after a problem. */
export function mibOf(at: At): number | undefined {
  const bytes = bytesOf(at)
  return bytes === undefined ? undefined : Math.ceil(bytes / 2 ** 20)
}

/** A name with its value. */
export interface Pair extends Member {
  /** Undefined for a name alone. */
  readonly value: string | undefined
}

/** Pairs of a mapping, or of a list of `name=value`. The value is undefined for a name alone. */
export function pairsOf(at: At): Pair[] {
  if (at.tree.kind === 'map')
    return membersOf(at).flatMap((member): Pair[] => {
      if (isNull(member.tree)) return [{ ...member, value: undefined }]
      const value = textOf(member)
      return value === undefined ? [] : [{ ...member, value }]
    })
  return itemsOf(at, 'a mapping, or a list of "name=value"').flatMap((item) => {
    const text = textOf(item, 'a text such as name=value')
    if (text === undefined) return []
    const equals = text.indexOf('=')
    const name = equals === -1 ? text : text.slice(0, equals)
    return [
      { ...item, name, key: item.tree.place, value: equals === -1 ? undefined : text.slice(equals + 1) },
    ]
  })
}

/** Words of a command line as a shell separates them, without its other rules; undefined after a problem. */
function wordsOf(at: At): string[] | undefined {
  const text = textOf(at, 'a text or a list of texts')
  if (text === undefined) return undefined
  const words: string[] = []
  const pattern = /\s*((?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+)/y
  const end = text.trimEnd().length
  while (pattern.lastIndex < end) {
    const match = pattern.exec(text)
    if (!match)
      return problem(at, 'The text has a quote that is not closed. Close it, or write a list of texts.')
    words.push(unquoted(match[1]!))
  }
  return words
}

const unquoted = (word: string): string =>
  word.replace(/\\([\s\S])|"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'/g, (_, escaped, double, single) =>
    escaped !== undefined ? escaped : double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : single,
  )

/** A list of texts, or the words of one text; undefined for null and after a problem. */
export function commandOf(at: At): string[] | undefined {
  if (isNull(at.tree)) return undefined
  if (at.tree.kind !== 'list') return wordsOf(at)
  const words = itemsOf(at).map((item) => textOf(item))
  return words.includes(undefined) ? undefined : (words as string[])
}

/** A text, or a list of texts. */
export function textsOf(at: At): (At & { readonly text: string })[] {
  const items = at.tree.kind === 'list' ? itemsOf(at) : isNull(at.tree) ? [] : [at]
  return items.flatMap((item) => {
    const text = textOf(item)
    return text === undefined ? [] : [{ ...item, text }]
  })
}
