/**
 * Bounds the requests that are under way at the same time to something slower than the event loop: a database, a function. The
 * limit adapts, as in Netflix's concurrency-limits: while even the fastest requests take much longer than they do without load,
 * they wait in a queue there, and the limit shrinks; else it grows whenever it is reached.
 */
export interface ConcurrencyLimit {
  /**
   * Whether one more request may begin.
   *
   * @param underWay requests that were started and are not complete
   */
  hasRoom(underWay: number): boolean
  /** Call it when a request is complete. @param durationMs since it began */
  ended(durationMs: number): void
}

/** Requests at the same time: while the usual duration is measured again, always allowed else, allowed at first, never more. */
const limits = { probe: 8, least: 32, first: 256, most: 1024 }
/** Milliseconds between two changes of the limit. */
const windowMs = 100
/** Milliseconds after which it is measured again how long a request takes without load. */
const epochMs = 10_000
/** A queue is standing where the fastest of a window takes longer than this many times the usual, plus so many milliseconds. */
const tolerance = { times: 2, plusMs: 1 }

export function createConcurrencyLimit(now: () => number = () => performance.now()): ConcurrencyLimit {
  let limit = limits.first
  let windowStart = now()
  let epochStart = windowStart
  /** Durations of the fastest requests: of this window, of this epoch and the one before. */
  let fastest = Number.POSITIVE_INFINITY
  let ofEpoch = Number.POSITIVE_INFINITY
  let usual = Number.POSITIVE_INFINITY
  let isReached = false
  let isRefusing = false

  /** Adjusts the limit to the result of the last window. One without an end of a request shows no queue. */
  function adapt(at: number): void {
    ofEpoch = Math.min(ofEpoch, fastest)
    const best = Math.min(usual, ofEpoch)
    const isQueueing =
      fastest !== Number.POSITIVE_INFINITY && fastest > best * tolerance.times + tolerance.plusMs
    if (isQueueing) limit = Math.max(limits.least, Math.floor(limit * 0.8))
    else if (isReached) limit = Math.min(limits.most, Math.ceil(limit * 1.25))
    windowStart = at
    fastest = Number.POSITIVE_INFINITY
    isReached = false
    if (at - epochStart < epochMs) return
    // With a queue all the time, its wait would soon count as usual: few at once show what a request takes without one.
    if (isRefusing) limit = limits.probe
    isRefusing = false
    epochStart = at
    usual = ofEpoch
    ofEpoch = Number.POSITIVE_INFINITY
  }

  return {
    hasRoom(underWay) {
      if (underWay < limit) return true
      isReached = true
      const at = now()
      if (at - windowStart > windowMs) adapt(at)
      if (underWay >= limit) isRefusing = true
      return underWay < limit
    },
    ended(durationMs) {
      if (durationMs < fastest) fastest = durationMs
      const at = now()
      if (at - windowStart > windowMs) adapt(at)
    },
  }
}
