/** Continues a download that a stop of the runtime interrupted, until it is complete or its time is over. */
import { RpcError } from '@selvedge/protocol'
import type { InterruptedPull } from './interrupted.ts'
import { pullMs } from './limits.ts'
import { answerOf, type Waiting } from './registry/resumed.ts'

const delays = { firstMs: 10_000, maxMs: 600_000 } as const

/** Reasons that pass: after a start of the device, its network may need minutes. */
const passing: ReadonlySet<string> = new Set(['registry_unavailable', 'busy'])

interface Continuing {
  /** Does the pull once. @throws RpcError */
  readonly attempt: () => Promise<unknown>
  /** Whether the account is still that of the pull. */
  readonly isWanted: () => boolean
  /** Milliseconds of its time that are left. */
  readonly leftMs: () => number
  readonly waiting: Pick<Waiting, 'wait' | 'random'>
}

/**
 * The milliseconds that a pull has left. Without a battery for its clock, a device starts in the past: the clock jumps then. With a clock that
 * was set back, the pull has its whole time again.
 *
 * @param now Unix milliseconds
 */
export function timeLeftOf(
  { since }: Pick<InterruptedPull, 'since'>,
  now: () => number,
  ms: number = pullMs,
): () => number {
  const begin = performance.now()
  return () => Math.max(0, Math.round(Math.min(since + ms - now(), begin + ms - performance.now())))
}

/** Never rejects because of the pull. */
export async function continuePull(
  { forget }: InterruptedPull,
  { attempt, isWanted, leftMs, waiting }: Continuing,
): Promise<void> {
  for (let failures = 0; isWanted() && leftMs() > 0; failures++) {
    try {
      await attempt()
      break
    } catch (cause) {
      if (!(cause instanceof RpcError && passing.has(cause.reason))) break
      const delayMs = Math.min(delays.firstMs * 2 ** failures, delays.maxMs)
      const waitMs = (answerOf(cause)?.retryAfterMs ?? 0) + delayMs * (0.5 + waiting.random() / 2)
      if (waitMs > leftMs()) break
      await waiting.wait(waitMs, cause)
    }
  }
  await forget()
}
