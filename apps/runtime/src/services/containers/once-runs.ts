/** The containers that run once at present: they end with the account that deployed them, and with the runtime. */
import type { Asking } from '../grants/granted-to.ts'
import { runOnce, type Stop } from './run-once.ts'

export interface OnceRuns {
  /** See `runOnce`. */
  readonly run: typeof runOnce
  /** Stops those of accounts that left the device; they do not start again. Resolves when they are gone. */
  stop(hasLeft: (asking: Asking) => boolean): Promise<void>
  /** Stops all of them, because the runtime stops. */
  close(): Promise<void>
}

const left: Stop = { why: 'its account left the device', graceSeconds: 10 }
const closed: Stop = { why: 'the runtime stops', graceSeconds: 3 }

interface Run {
  readonly asking: Asking
  readonly stopping: AbortController
  /** Resolves when it is gone. */
  readonly gone: Promise<unknown>
}

export function createOnceRuns(): OnceRuns {
  const runs = new Set<Run>()

  async function stop(isMeant: (asking: Asking) => boolean, reason: Stop): Promise<void> {
    const meant = [...runs].filter(({ asking }) => isMeant(asking))
    for (const { stopping } of meant) stopping.abort(reason)
    await Promise.all(meant.map(({ gone }) => gone))
  }

  return {
    async run(parts, plan, retries) {
      const stopping = new AbortController()
      const work = runOnce({ ...parts, stopping: stopping.signal }, plan, retries)
      const run = { asking: plan.asking, stopping, gone: work.catch(() => undefined) }
      runs.add(run)
      await work.finally(() => runs.delete(run))
    },
    stop: (hasLeft) => stop(hasLeft, left),
    close: () => stop(() => true, closed),
  }
}
