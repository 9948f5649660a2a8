import { randomUUID } from 'node:crypto'
import type { Log } from './log.ts'

/**
 * Logs a failure under a new ID, which an answer or a notice may repeat: who has the ID finds the line.
 *
 * @param fields with the cause
 * @returns the ID, a UUID
 */
export function errorIdOf(
  log: Log,
  message: string,
  fields: object,
  level: 'warn' | 'error' = 'error',
): string {
  const errorId = randomUUID()
  log[level](message, { errorId, ...fields })
  return errorId
}
