/** The source of time. No other module reads the system clock. */

export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

/** A clock that also knows what a jump does not change. */
export interface SteadyClock extends Clock {
  /** Unix milliseconds that only grow; a jump of the clock that does not last does not move them. */
  steady(): number
  /** Unix milliseconds; everything that expired before this time may be removed: the earlier of both times. */
  past(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Unix seconds, as tokens count. */
export const seconds = (clock: Clock): number => Math.floor(clock.now() / 1000)

/** First and last millisecond of the years that ISO 8601 writes with four digits. */
const years = { first: Date.parse('0001-01-01T00:00:00Z'), last: Date.UTC(9999, 11, 31, 23, 59, 59, 999) }

/**
 * A time in ISO 8601. Never throws: a time that comes from elsewhere may be any number, and one beyond the years 1 to 9999 is
 * shown as the nearest of them; what is no number, as 1970.
 *
 * @param milliseconds Unix milliseconds
 */
export function isoTime(milliseconds: number): string {
  const shown = Math.min(Math.max(milliseconds, years.first), years.last)
  return new Date(Number.isNaN(shown) ? 0 : shown).toISOString()
}
