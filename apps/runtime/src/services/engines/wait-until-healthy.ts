import { setTimeout as sleep } from 'node:timers/promises'
import type { Ending } from './engine.ts'

export interface WaitOptions {
  /** Time after which the wait ends. */
  readonly seconds: number
  /** Milliseconds between two checks. */
  readonly pauseMs: number
  /** Resolves when there is nothing left to wait for. */
  readonly gone: Promise<Ending>
}

/** Milliseconds that each check has at least: also the last one is to find what is wrong, on a slow device as well. */
const leastMs = 5000

/**
 * Checks repeatedly until the check succeeds, the thing that is checked is gone, or the time has passed.
 *
 * @param check returns what is wrong, or undefined; it gets the milliseconds that are left, and 5 s at least
 * @returns what was wrong last, or undefined
 */
export async function waitUntilHealthy(
  check: (leftMs: number) => Promise<string | undefined>,
  { seconds, pauseMs, gone }: WaitOptions,
): Promise<string | undefined> {
  let ended: string | undefined
  gone.then(
    ({ why }) => {
      ended = why
    },
    (cause) => {
      ended = `it ended, and how is not known: ${cause}`
    },
  )
  const started = performance.now()
  for (;;) {
    const leftMs = seconds * 1000 - (performance.now() - started)
    const problem = await check(Math.max(leftMs, leastMs))
    if (problem === undefined) return undefined
    if (ended !== undefined) return ended
    if (leftMs <= 0) return `${problem} for ${seconds} s (MCM.HEALTH_SEC)`
    await sleep(Math.min(pauseMs, leftMs))
  }
}
