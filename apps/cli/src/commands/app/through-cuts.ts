/** Repeats a call with an ID, which joins what it began before: so a cut connection ends no deployment. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectionFailure } from '@selvedge/client'

interface CutParts {
  /** Monotonic milliseconds. */
  readonly now?: () => number
  readonly wait?: (ms: number) => Promise<unknown>
}

/** Milliseconds: for which nothing answers before the call fails, and between two attempts. */
const limits = { silenceMs: 60_000, firstPauseMs: 1000, maxPauseMs: 5000 } as const

/** Codes of a connection that was there. */
const cuts = new Set(['ECONNRESET', 'EPIPE'])

function isCut(failure: ConnectionFailure): boolean {
  for (let cause = failure.cause as { code?: unknown; cause?: unknown } | undefined; cause; ) {
    if (cuts.has(String(cause.code))) return true
    cause = cause.cause as typeof cause
  }
  return false
}

/**
 * @param call may be made again: it begins nothing twice
 * @throws what the call throws; for a runtime that did not answer from the first call on, at once
 */
export async function throughCuts<T>(
  call: () => Promise<T>,
  { now = () => performance.now(), wait = sleep }: CutParts = {},
): Promise<T> {
  let lostAt: number | undefined
  for (let pauseMs: number = limits.firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, limits.maxPauseMs)) {
    const begun = now()
    try {
      return await call()
    } catch (cause) {
      if (!(cause instanceof ConnectionFailure) || cause.reason !== 'not_running') throw cause
      if (isCut(cause) && now() - begun > limits.maxPauseMs) lostAt = undefined
      if (lostAt === undefined && !isCut(cause)) throw cause
      lostAt ??= now()
      if (now() - lostAt > limits.silenceMs) throw cause
      await wait(pauseMs)
    }
  }
}
