/** Milliseconds by which a clock may differ from what passed before it counts as set. */
export const clockJump = 60_000

export interface BelievedTime {
  /** The latest accepted time. It advances by itself. */
  now(): number
  /** Notes what a clock shows. A clock that was set ahead is believed once it went on so for the time to settle. */
  note(shown: number): void
  /** Replaces what was believed. */
  replace(time: number): void
}

/**
 * The latest time that a clock is believed to have shown. A jump ahead that does not last is not believed, and nothing that the
 * clock shows brings it back.
 *
 * @param start Unix milliseconds
 * @param elapsed milliseconds that only grow
 * @param settleMs milliseconds for which a clock that was set ahead must go on
 */
export function createBelievedTime(start: number, elapsed: () => number, settleMs: number): BelievedTime {
  const momentOf = (time: number) => ({ time, elapsed: elapsed() })
  let least = momentOf(start)
  /** What the clock shows since it was set ahead. */
  let candidate: typeof least | undefined
  const timeOf = (moment: typeof least) => Math.floor(moment.time + (elapsed() - moment.elapsed))

  function replace(time: number): void {
    least = momentOf(time)
    candidate = undefined
  }

  return {
    now: () => timeOf(least),
    replace,
    note(shown) {
      const ahead = shown - timeOf(least)
      if (ahead > clockJump) {
        const goesOn = candidate && Math.abs(shown - timeOf(candidate)) <= clockJump
        if (!candidate || !goesOn) candidate = momentOf(shown)
        if (elapsed() - candidate.elapsed >= settleMs) replace(shown)
      } else if (ahead >= 0) replace(shown)
    },
  }
}
