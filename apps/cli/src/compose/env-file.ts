/** Files of variables, such as `.env`: a line for each, with or without quotes, as `docker compose` reads them. */
import { interpolate, VariableError, type Variables } from './interpolate.ts'
import { shown } from './report.ts'

interface EnvLine {
  readonly name: string
  /** Undefined for a name without "=": the environment has the value. */
  readonly value: string | undefined
  /** From 1. */
  readonly line: number
}

export interface EnvFile {
  readonly lines: readonly EnvLine[]
  readonly problems: readonly { readonly line: number; readonly message: string }[]
}

const linePattern = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*(?:[=:]|$)/

/** Text after the closing quote: nothing, or a comment. */
const restPattern = /^[ \t]*(?:#.*)?$/

/** The position of the quote that closes a value; -1 without one. */
function closingQuote(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1
    else if (text[at] === quote) return at
  }
  return -1
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$$' }
const withoutEscapes = (text: string) => text.replace(/\\([nrt"\\$])/g, (_, unit: string) => escapes[unit]!)

/**
 * Reads a file of variables. A value in double quotes, or without quotes, may name variables: those of the file before it count, too.
 *
 * @param isRaw values are used as they are, without quotes and variables
 */
export function readEnvFile(text: string, outer: Variables, isRaw = false): EnvFile {
  const lines: EnvLine[] = []
  const problems: { line: number; message: string }[] = []
  const known = new Map<string, string>()
  const variables = { ...outer, get: (name: string) => outer.get(name) ?? known.get(name) }
  let at = 0
  let line = 0
  while (at < text.length) {
    line += 1
    const end = text.indexOf('\n', at)
    const own = text.slice(at, end === -1 ? text.length : end).replace(/\r$/, '')
    const next = end === -1 ? text.length : end + 1
    const [begin, name = ''] = linePattern.exec(own) ?? []
    if (begin === undefined) {
      if (!/^[ \t]*(?:#|$)/.test(own))
        problems.push({
          line,
          message: `${shown(own)} is not a variable. Write NAME=value, or # before a comment.`,
        })
      at = next
      continue
    }
    const read = valueAt(text, at + begin.length, next, isRaw)
    try {
      if (typeof read === 'string') problems.push({ line, message: read })
      else {
        const value =
          read.isFixed || read.value === undefined ? read.value : interpolate(read.value, variables)
        lines.push({ name, value, line })
        if (value !== undefined) known.set(name, value)
      }
    } catch (cause) {
      if (!(cause instanceof VariableError)) throw cause
      problems.push({ line, message: cause.message })
    }
    const after = typeof read === 'string' ? next : read.next
    line += countLines(text, next, after)
    at = after
  }
  return { lines, problems }
}

/** Text before a comment, which begins after a space. */
function withoutComment(line: string): string {
  const at = line.search(/[ \t]#/)
  return at === -1 ? line : line.slice(0, at)
}

function countLines(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

interface Value {
  readonly value: string | undefined
  /** Whether it has no variables. */
  readonly isFixed: boolean
  /** Position of the line after it. */
  readonly next: number
}

/** @returns a value, or what is wrong with it */
function valueAt(text: string, from: number, next: number, isRaw: boolean): Value | string {
  if (!/[=:]/.test(text[from - 1] ?? '')) return { value: undefined, isFixed: true, next }
  const line = text.slice(from, text[next - 1] === '\n' ? next - 1 : next).replace(/\r$/, '')
  if (isRaw) return { value: line, isFixed: true, next }
  const start = from + /^[ \t]*/.exec(line)![0].length
  const quote = text[start]
  if (quote !== '"' && quote !== "'") {
    const plain = line.trim().startsWith('#') ? '' : withoutComment(line).trim()
    return { value: plain, isFixed: false, next }
  }
  const close = closingQuote(text, start + 1, quote)
  if (close === -1) return `The value has no closing ${quote}. Add it.`
  const end = text.indexOf('\n', close)
  const after = text.slice(close + 1, end === -1 ? text.length : end).replace(/\r$/, '')
  if (!restPattern.test(after)) return `${shown(after)} follows the closing ${quote}. Remove it.`
  const inner = text.slice(start + 1, close)
  const isFixed = quote === "'"
  return { value: isFixed ? inner : withoutEscapes(inner), isFixed, next: end === -1 ? text.length : end + 1 }
}
