/** The moments that cron expressions mean in a time zone. */
import type { Cron } from './croner.lazy.ts'

/** A time at which an expression is due, in Unix milliseconds. */
export interface DueTime {
  readonly cron: string
  readonly time: number
}

export interface Timetable {
  /** The last time of each expression that is later than `after` and not later than `at`, oldest first. All are Unix milliseconds. */
  due(after: number, at: number): DueTime[]
  /** The first time of any expression that is later than `at`; Infinity without one. */
  next(at: number): number
}

/** @param expressions that `readCron` accepted, and a time zone that `readTimeZone` accepted */
export function createTimetable(
  Library: typeof Cron,
  expressions: readonly string[],
  zone: string,
): Timetable {
  const all = expressions.map((cron) => createTimes(Library, cron, zone))
  return {
    due: (after, at) =>
      all
        .flatMap(({ cron, last }) => {
          const time = last(after, at)
          return time === undefined ? [] : [{ cron, time }]
        })
        .toSorted((one, other) => one.time - other.time),
    next: (at) => Math.min(...all.map(({ next }) => next(at))),
  }
}

/** One expression. What was found out last is stored: between two times there is nothing to compute, however often it is called. */
function createTimes(Library: typeof Cron, cron: string, zone: string) {
  // Paused, and without a function to call: it starts no timer.
  const times = new Library(cron, { timezone: zone, mode: '5-part', paused: true })
  /** No time is between the two, but for `next` itself. */
  let known = { from: Number.POSITIVE_INFINITY, next: Number.NEGATIVE_INFINITY }

  function next(at: number): number {
    if (at < known.from || at >= known.next)
      known = { from: at, next: times.nextRun(new Date(at))?.getTime() ?? Number.POSITIVE_INFINITY }
    return known.next
  }

  return {
    cron,
    next,
    last(after: number, at: number): number | undefined {
      if (after >= known.from && at < known.next) return undefined
      // The library finds times before its argument.
      const time = times.previousRuns(1, new Date(at + 1))[0]?.getTime()
      return time !== undefined && time > after && time <= at ? time : undefined
    },
  }
}
