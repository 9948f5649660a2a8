import type { Running } from '../containers/instances.ts'

export interface RequestCount {
  /** The answer has begun. */
  answered(): void
  end(): void
}

/**
 * Counts a request on its instance: an instance with requests is neither paused nor stopped.
 *
 * @param now gives monotonic milliseconds
 */
export function countRequest(running: Running, now: () => number): RequestCount {
  running.requests++
  running.unanswered++
  const startedAt = now()
  let isAnswered = false
  let isOver = false
  const answered = () => {
    if (isAnswered) return
    isAnswered = true
    running.unanswered--
    running.limit.ended(now() - startedAt)
  }
  return {
    answered,
    end() {
      if (isOver) return
      isOver = true
      answered()
      running.requests--
      running.lastUsed = now()
    },
  }
}
