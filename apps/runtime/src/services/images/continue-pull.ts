/** Continues a download that a stop of the runtime interrupted, until it is complete or its time is over. */
import { RpcError } from '@selvedge/protocol'
import type { InterruptedPull } from './interrupted.ts'
import type { Waiting } from './registry/resumed.ts'

const delays = { firstMs: 10_000, maxMs: 600_000 } as const

/** Reasons that pass: after a start of the device, its network may need minutes. */
const passing: ReadonlySet<string> = new Set(['registry_unavailable', 'busy'])

interface Continuing {
  /** Does the pull once. @throws RpcError */
  readonly attempt: () => Promise<unknown>
  /** Whether the account is still that of the pull. */
  readonly isWanted: () => boolean
  /** Unix milliseconds. */
  readonly now: () => number
  /** Milliseconds for the pull since its begin. */
  readonly pullMs: number
  readonly waiting: Pick<Waiting, 'wait' | 'random'>
}

/** Never rejects because of the pull. With a clock that was set back, it has its whole time again. */
export async function continuePull(
  { since, forget }: InterruptedPull,
  { attempt, isWanted, now, pullMs, waiting }: Continuing,
): Promise<void> {
  const begin = performance.now()
  // Without a battery for its clock, a device starts in the past: the clock jumps then.
  const hasTime = () => now() < since + pullMs && performance.now() - begin < pullMs
  for (let failures = 0; isWanted() && hasTime(); failures++) {
    try {
      await attempt()
      break
    } catch (cause) {
      if (!(cause instanceof RpcError && passing.has(cause.reason))) break
      const delayMs = Math.min(delays.firstMs * 2 ** failures, delays.maxMs)
      await waiting.wait(delayMs * (0.5 + waiting.random() / 2), cause)
    }
  }
  await forget()
}
