/** Runs a container to its end: a member of an app that runs once, such as a migration of a database. */
import { setTimeout as sleep } from 'node:timers/promises'
import { RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import type { Ending, Instance, Plan } from '../engines/engine.ts'
import { pauseSecondsAfter } from './crash-policy.ts'
import type { InstanceParts } from './instances.ts'

export interface OnceParts extends Pick<InstanceParts, 'engine' | 'hold' | 'now'> {
  /** Resolves after a number of milliseconds, or rejects when the signal aborts; for tests. */
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<unknown>
  /** Aborts when it is to stop before it has completed, with the reason of type {@link Stop}. */
  readonly stopping?: AbortSignal
}

export interface Stop {
  /** For the error. */
  readonly why: string
  /** It has no longer than this to exit. */
  readonly graceSeconds: number
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
  const { now, wait = waitUnreferenced, stopping = new AbortController().signal } = parts
  const stopped = new Promise<'stopped'>((resolve) =>
    stopping.addEventListener(
      'abort',
      safely('containers.once', () => resolve('stopped')),
      { once: true },
    ),
  )
  const deadline = now() + plan.settings['MCM.HEALTH_SEC'] * 1000
  for (let failures = 1; ; failures += 1) {
    const { reason, exitCode, why } = await runToEnd({ ...parts, wait, stopping, stopped }, plan, deadline)
    if (reason === 'exited' && exitCode === 0) return
    const seconds = pauseSecondsAfter(failures - 1)
    if (failures > retries || now() + seconds * 1000 >= deadline) throw new RpcError('container_failed', why)
    plan.log('runtime', `failed: ${why}; it is started again in ${seconds} s`)
    if (seconds > 0) await Promise.race([wait(seconds * 1000), stopped])
    if (stopping.aborted) throw stoppedEarly(stopping.reason)
  }
}

const stoppedEarly = ({ why }: Stop): RpcError =>
  new RpcError('container_failed', `it was stopped before it had completed: ${why}`)

type RunParts = OnceParts &
  Required<Pick<OnceParts, 'wait' | 'stopping'>> & { readonly stopped: Promise<'stopped'> }

function runToEnd(
  { engine, hold, now, wait, stopping, stopped }: RunParts,
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
    const found = await Promise.race([stopped, instance.ended, late])
    timer.abort()
    if (found === 'late') return stopLate(instance, plan)
    return found === 'stopped' ? stopEarly(instance, plan, stopping.reason) : found
  })
}

async function stopEarly(instance: Instance, { settings }: Plan, stop: Stop): Promise<never> {
  await instance.stop(Math.min(settings['MCM.STOP_SEC'], stop.graceSeconds))
  throw stoppedEarly(stop)
}

async function stopLate(instance: Instance, { settings }: Plan): Promise<never> {
  await instance.stop(settings['MCM.STOP_SEC'])
  throw new RpcError(
    'container_failed',
    `it did not exit within ${settings['MCM.HEALTH_SEC']} s (MCM.HEALTH_SEC), and was stopped: a member with the restart "no" or "on-failure" runs once`,
  )
}
