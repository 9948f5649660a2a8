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
  const end = running.requests.begin()
  const answered = running.unanswered.begin()
  return {
    answered,
    end() {
      answered()
      end()
      running.lastUsed = now()
    },
  }
}
