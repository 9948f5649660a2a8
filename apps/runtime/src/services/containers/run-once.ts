/** Runs a container to its end: a member of an app that runs once, such as a migration of a database. */
import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError } from '@selvedge/protocol'
import type { Ending, Instance, Plan } from '../engines/engine.ts'
import { pauseSecondsAfter } from './crash-policy.ts'
import type { InstanceParts } from './instances.ts'

export interface OnceParts extends Pick<InstanceParts, 'engine' | 'hold' | 'now'> {
  /** Resolves after a number of milliseconds, or rejects when the signal aborts; for tests. */
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<unknown>
}

const waitUnreferenced: NonNullable<OnceParts['wait']> = (ms, signal) =>
  sleep(ms, undefined, { ref: false, ...(signal && { signal }) })

/**
 * Resolves when the program has exited with 0. All attempts together have `MCM.HEALTH_SEC`; then it is stopped.
 *
 * @param retries how often it is started again after it failed
 * @throws RpcError `container_failed` with how it exited, and what the engine throws
 */
export async function runOnce(parts: OnceParts, plan: Plan, retries: number): Promise<void> {
  const { now, wait = waitUnreferenced } = parts
  const deadline = now() + plan.settings['MCM.HEALTH_SEC'] * 1000
  for (let failures = 1; ; failures += 1) {
    const { reason, exitCode, why } = await runToEnd({ ...parts, wait }, plan, deadline)
    if (reason === 'exited' && exitCode === 0) return
    const seconds = pauseSecondsAfter(failures - 1)
    if (failures > retries || now() + seconds * 1000 >= deadline) throw new RpcError('container_failed', why)
    plan.log('runtime', `failed: ${why}; it is started again in ${seconds} s`)
    if (seconds > 0) await wait(seconds * 1000)
  }
}

function runToEnd(
  { engine, hold, now, wait }: OnceParts & Required<Pick<OnceParts, 'wait'>>,
  plan: Plan,
  deadline: number,
): Promise<Ending> {
  return hold([plan.content], async () => {
    plan.expectAllowed?.()
    const instance = await engine.start(plan)
    const timer = new AbortController()
    const late = wait(Math.max(0, deadline - now()), timer.signal).then(
      () => 'late' as const,
      () => 'late' as const,
    )
    const found = await Promise.race([instance.ended, late])
    timer.abort()
    return found === 'late' ? stopLate(instance, plan) : found
  })
}

async function stopLate(instance: Instance, { settings }: Plan): Promise<never> {
  await instance.stop(settings['MCM.STOP_SEC'])
  throw new RpcError(
    'container_failed',
    `it did not exit within ${settings['MCM.HEALTH_SEC']} s (MCM.HEALTH_SEC), and was stopped: a member with the restart "no" or "on-failure" runs once`,
  )
}
