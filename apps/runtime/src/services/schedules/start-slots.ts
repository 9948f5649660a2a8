/** Few instances start for their times at once: a hundred functions with the same expression do not stall the device. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Starts at once, and milliseconds after which the next one begins although a start is not complete. */
const limits = { atOnce: 4, slowMs: 10_000 }

/** Does work when one of the slots is free, in the order of the calls. Passes on what it throws. */
export type InSlot = <T>(work: () => Promise<T>) => Promise<T>

/** @param slowMs milliseconds after which the next start need not wait for one */
export function createStartSlots(slowMs: number = limits.slowMs): InSlot {
  /** What each slot waits for. */
  const slots: Promise<unknown>[] = Array.from({ length: limits.atOnce }, () => Promise.resolve())
  let next = 0
  return (work) => {
    const slot = next++ % limits.atOnce
    const result = slots[slot]!.then(work)
    slots[slot] = slots[slot]!.then(() => endOf(result, slowMs))
    return result
  }
}

/** Resolves when work is complete, or lasts too long for others to wait for it. */
async function endOf(work: Promise<unknown>, slowMs: number): Promise<void> {
  const waited = new AbortController()
  const late = sleep(slowMs, undefined, { signal: waited.signal }).catch(() => undefined)
  await Promise.race([work.catch(() => undefined), late])
  waited.abort()
}
