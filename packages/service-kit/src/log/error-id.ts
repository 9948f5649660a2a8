import { randomUUID } from 'node:crypto'
import type { Log } from './log-interface.ts'

/** Milliseconds in which failures of one cause share a line, and the causes that have a line of their own in that time. */
const limits = { quietMs: 60_000, causes: 100 } as const

/** The line about a cause, for the failures that follow it. */
interface Logged {
  readonly errorId: string
  readonly at: number
  /** Failures since, without a line of their own. */
  silent: number
}

const logged = new WeakMap<Log, Map<string, Logged>>()

/** Whether the fields of a line are those of a failure that has no ID yet. */
export const isFailure = (fields: object): boolean => 'cause' in fields && !('errorId' in fields)

/**
 * Logs a failure under an ID, which an answer or a notice may repeat: who has the ID finds the line. A database that only reads makes
 * every write fail, so failures of one cause have one line a minute, and share its ID. The next line has the number of those
 * between as `notLogged`. Beyond 100 causes a minute, all further ones of a message count as one.
 *
 * @param fields with the cause
 * @param monotonic milliseconds that only grow
 * @returns the ID, a UUID
 */
export function errorIdOf(
  log: Log,
  message: string,
  fields: object,
  level: 'warn' | 'error' = 'error',
  monotonic: () => number = () => performance.now(),
): string {
  let known = logged.get(log)
  if (!known) logged.set(log, (known = new Map()))
  const now = monotonic()
  const key = keyOf(known, now, `${level} ${message}`, fields)
  const last = known.get(key)
  if (last && now - last.at < limits.quietMs) {
    last.silent++
    return last.errorId
  }
  const errorId = randomUUID()
  known.set(key, { errorId, at: now, silent: 0 })
  log[level](message, { errorId, ...(last && last.silent > 0 && { notLogged: last.silent }), ...fields })
  return errorId
}

/** Fields that name what failed: a part of the program, or an issuer. Others name the request. */
const parts = ['where', 'reason', 'task', 'topic', 'issuer']

/** The message with its part and its cause; the message alone while too many are known. */
function keyOf(known: Map<string, Logged>, now: number, message: string, fields: object): string {
  const read = fields as Readonly<Record<string, unknown>>
  const key = [message, ...parts.map((part) => read[part]), describe(read.cause)].join(' ')
  if (known.has(key) || known.size < limits.causes) return key
  for (const [each, { at }] of known) if (now - at >= limits.quietMs) known.delete(each)
  return known.size < limits.causes ? key : message
}

/** What a cause and its causes are, and where each was thrown; not which request failed. */
function describe(cause: unknown, depth = 0): string {
  if (typeof cause !== 'object' || cause === null) return String(cause).slice(0, 200)
  if (depth === 4) return ''
  try {
    const { name, code, message, stack, cause: inner } = cause as Error & { code?: unknown }
    const at =
      String(stack)
        .slice(0, 2000)
        .split('\n')
        .find((line) => line.startsWith('    at ')) ?? ''
    return `${name} ${code} ${String(message).slice(0, 200)}${at} ${inner === undefined ? '' : describe(inner, depth + 1)}`
  } catch {
    return 'unreadable'
  }
}
