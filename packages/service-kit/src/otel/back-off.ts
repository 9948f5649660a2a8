/** How long a sender rests after failures. */
export interface BackOff {
  mayTry(): boolean
  note(isSent: boolean): void
}

/**
 * Pauses after each failure in a row: a second, two, four, up to a limit, with a random part.
 *
 * @param onChange called when it begins to fail, and when it works again
 */
export function createBackOff(maxPauseMs: number, onChange: (isFailing: boolean) => void): BackOff {
  let failures = 0
  let pausedUntil = 0
  return {
    mayTry: () => performance.now() >= pausedUntil,
    note(isSent) {
      if (isSent === failures > 0) onChange(!isSent)
      failures = isSent ? 0 : failures + 1
      const pauseMs = Math.min(maxPauseMs, 1000 * 2 ** Math.min(failures - 1, 16))
      pausedUntil = isSent ? 0 : performance.now() + pauseMs * (0.5 + Math.random() / 2)
    },
  }
}
