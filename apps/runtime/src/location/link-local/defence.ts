/**
 * When a node contradicts another device that answers for its name (RFC 6762 §§ 8.1, 9). Pure: the state after a conflict depends only on
 * the state before it and the time. Times are milliseconds of a monotonic clock.
 */

/** The pause after a defence: the first one, doubled while the conflict continues, up to the maximum. */
const firstPauseMs = 1000
const maxPauseMs = 60_000
/** Without a conflict for this long, the next one counts as the first. */
const quietMs = 60_000

export interface Defence {
  readonly conflictAt: number
  readonly defendedAt: number
  readonly pauseMs: number
}

export const noConflict: Defence = {
  conflictAt: Number.NEGATIVE_INFINITY,
  defendedAt: Number.NEGATIVE_INFINITY,
  pauseMs: firstPauseMs,
}

export interface Decision {
  readonly state: Defence
  /** Whether the conflict is new: it is worth a line in the log. */
  readonly isFirst: boolean
  readonly mustDefend: boolean
}

export function afterConflict(before: Defence, now: number): Decision {
  if (now - before.conflictAt > quietMs)
    return {
      state: { conflictAt: now, defendedAt: now, pauseMs: firstPauseMs },
      isFirst: true,
      mustDefend: true,
    }
  const mustDefend = now - before.defendedAt >= before.pauseMs
  return {
    state: mustDefend
      ? { conflictAt: now, defendedAt: now, pauseMs: Math.min(maxPauseMs, 2 * before.pauseMs) }
      : { ...before, conflictAt: now },
    isFirst: false,
    mustDefend,
  }
}
