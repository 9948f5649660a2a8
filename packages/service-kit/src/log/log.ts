/**
 * One JSON line an event, on standard error. Secrets never go in: callers log ids, not tokens, and what foreign text brings along
 * is removed here, with control sequences. A log never ends or stalls its program: what cannot be written is dropped and counted, and
 * what cannot be shown as JSON is shown as text. A failure that repeats has one line a minute: see `errorIdOf`.
 */
import { escapeControls, isSecretName, redactText } from '@selvedge/protocol/redaction'
import { isoTime } from '../clock/clock.ts'
import { errorIdOf, isFailure } from './error-id.ts'
import { createLineWriter } from './line-writer.ts'
import type { Log } from './log-interface.ts'
import { prettyLine } from './pretty-line.ts'

export type Level = 'debug' | 'info' | 'warn' | 'error'

const rank: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** The message of the line that follows lines that could not be written. */
export const droppedMessage = 'log lines were dropped'

interface LogOptions {
  readonly service: string
  readonly level: Level
  readonly now: () => number
  /** `json`: one JSON line an event, the default. `pretty`: for a person at a terminal. */
  readonly format?: 'json' | 'pretty'
}

/** @param write gets each line, without its end; standard error by default */
export function createLog(
  options: LogOptions,
  write: (line: string) => void = toStandardError(options),
): Log {
  const isHidden = createIsHidden()
  const at =
    (level: Level) =>
    (message: string, fields: object = {}) => {
      if (rank[level] < rank[options.level]) return
      const line = lineOf(options, level, message, fields, isHidden)
      write(options.format === 'pretty' ? prettyLine(line, process.stderr.isTTY) : line)
    }
  /** A line with a cause is a failure, and what fails once can fail with every request, fix or timer. */
  const limited = (level: 'warn' | 'error') => {
    const write = at(level)
    return (message: string, fields: object = {}) => {
      if (isFailure(fields)) errorIdOf(log, message, fields, level)
      else write(message, fields)
    }
  }
  const log: Log = { debug: at('debug'), info: at('info'), warn: limited('warn'), error: limited('error') }
  return log
}

function toStandardError(options: LogOptions): (line: string) => void {
  const isHidden = createIsHidden()
  const recovered = (dropped: number) => lineOf(options, 'warn', droppedMessage, { dropped }, isHidden)
  return createLineWriter(process.stderr, recovered).write
}

/** Levels of objects and causes that are shown. */
const maxDepth = 32
/** Longest line in characters; the details of a longer one are cut. */
const maxLine = 32 * 1024

type IsHidden = (name: string) => boolean

function lineOf(
  { now, service }: LogOptions,
  level: Level,
  message: string,
  fields: object,
  isHidden: IsHidden,
): string {
  const head = { time: isoTime(now()), level, service, message }
  try {
    const line = escapeControls(JSON.stringify({ ...head, ...fields }, createReplacer(isHidden)))
    return line.length <= maxLine ? line : JSON.stringify({ ...head, cut: line.slice(0, maxLine) })
  } catch {
    // A getter that throws, a toJSON that throws: the event is worth more than its details.
    return escapeControls(JSON.stringify({ ...head, message: redactText(message), unreadable: true }))
  }
}

/** Of text that is longer, this many characters are looked through and shown. */
const maxText = 8192

/** Maximum names with a cached result: nearly all names are fixed in the code. */
const maxNames = 1000

/** Whether a member of a log line is a secret. `code` is that of an error. */
function createIsHidden(): IsHidden {
  const known = new Map<string, boolean>()
  return (name) => {
    let isHidden = known.get(name)
    if (isHidden !== undefined) return isHidden
    isHidden = name !== 'code' && isSecretName(name)
    if (known.size < maxNames) known.set(name, isHidden)
    return isHidden
  }
}

/**
 * Errors have no enumerable members: without this a cause would be logged as {}. JSON has neither cycles nor BigInt; the first
 * are shown as "[circular]", the second as text.
 */
function createReplacer(isHidden: IsHidden): (this: unknown, key: string, value: unknown) => unknown {
  /** What encloses the present value, outermost first, and what each is shown as. */
  const enclosing: { readonly value: object; readonly shown: object }[] = []
  return function (key, value) {
    if (typeof value === 'string') return isHidden(key) ? `<${key}>` : redactText(value.slice(0, maxText))
    if (typeof value === 'bigint') return `${value}n`
    if (typeof value !== 'object' || value === null) return value
    if (isHidden(key)) return `<${key}>`
    while (enclosing.length > 0 && enclosing.at(-1)?.shown !== this) enclosing.pop()
    if (enclosing.length === maxDepth) return '[deep]'
    if (enclosing.some((each) => each.value === value)) return '[circular]'
    const shown = value instanceof Error ? showError(value) : value
    enclosing.push({ value, shown })
    return shown
  }
}

function showError(error: Error): object {
  const read = (name: 'name' | 'message' | 'stack' | 'cause' | 'code') => {
    try {
      return (error as unknown as Record<string, unknown>)[name]
    } catch {
      return '[unreadable]'
    }
  }
  const [cause, code] = [read('cause'), read('code')]
  return {
    name: read('name'),
    message: read('message'),
    ...(code !== undefined && { code }),
    stack: read('stack'),
    ...(cause ? { cause } : {}),
  }
}
