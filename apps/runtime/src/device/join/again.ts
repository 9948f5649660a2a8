/** When a device shows its join key again: later and later, as long as the outcome is the same. */
import { safely } from '@selvedge/service-kit/safely'

/** Milliseconds until the next request: of a device that waits for an approval, and after a refusal; each doubles. */
const delays = { waiting: { first: 30_000, max: 600_000 }, refused: { first: 60_000, max: 6 * 3_600_000 } }

export type Outcome = keyof typeof delays

export interface Again {
  after(outcome: Outcome): void
  /** Nothing is requested by itself, and the next delay is the first one. */
  clear(): void
}

export function createAgain(request: () => Promise<unknown>): Again {
  let timer: NodeJS.Timeout | undefined
  let delayMs = 0
  let before: Outcome | undefined
  return {
    after(outcome) {
      const { first, max } = delays[outcome]
      delayMs = before === outcome ? Math.min(delayMs * 2, max) : first
      before = outcome
      clearTimeout(timer)
      timer = setTimeout(safely('join.again', request), delayMs * (0.75 + Math.random() / 2))
      timer.unref()
    },
    clear() {
      clearTimeout(timer)
      before = undefined
    },
  }
}
