/** Where the time comes from. Nothing else asks the system for it. */

export interface Clock {
  /** Unix milliseconds. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Unix seconds, as tokens count. */
export const seconds = (clock: Clock): number => Math.floor(clock.now() / 1000)

export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString()
