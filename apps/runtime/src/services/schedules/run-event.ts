/** One run of a function or an OCI container for a time of `MCM.CRON`. */
import type { RunOutcome } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import type { Running } from '../containers/instances.ts'
import { postScheduled } from '../containers/post-scheduled.ts'
import type { Route } from '../containers/views.ts'
import type { InSlot } from './start-slots.ts'
import type { DueTime } from './timetable.ts'

export const failed = (cause: unknown): RunOutcome => ({
  outcome: 'failed',
  detail: (cause as Error).message,
})

interface RunParts {
  readonly inSlot: InSlot
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Starts the function or container if it is paused, and calls it. The run is work under way: meanwhile the instance is neither paused nor, for the
 * usual time, stopped. A function that does not finish in time is replaced: its one thread may be busy. Never rejects.
 */
export async function runEvent(
  { inSlot, now }: RunParts,
  { service, settings }: Pick<Route, 'service' | 'settings'>,
  event: DueTime,
): Promise<RunOutcome> {
  let running: Running
  try {
    running = await inSlot(async () => service.acquire())
  } catch (cause) {
    return failed(cause)
  }
  const end = running.requests.begin()
  const seconds = settings['MCM.MAX_EXECUTION_TIME_SEC']
  try {
    const isComplete = await withinLimit(handle(running, event, seconds * 1000), seconds * 1000)
    if (isComplete) return { outcome: 'succeeded', detail: null }
    const isFunction = running.plan.content.kind === 'function'
    if (isFunction) service.retire(running)
    const rest = isFunction ? ', and its instance was replaced' : ''
    return {
      outcome: 'timed_out',
      detail: `it did not finish within ${seconds} s (MCM.MAX_EXECUTION_TIME_SEC)${rest}`,
    }
  } catch (cause) {
    return failed(cause)
  } finally {
    end()
    running.lastUsed = now()
  }
}

async function handle(running: Running, event: DueTime, timeoutMs: number): Promise<void> {
  const { instance, plan } = running
  // Broken off after the run has timed out, not before.
  if (plan.content.kind === 'oci') return postScheduled(running, event, timeoutMs + 1000)
  if (!instance.runScheduled) throw new Error('the function has no handler for "scheduled"')
  await instance.runScheduled(event)
}

/** Whether work is complete in time. Rejects with what it rejects with until then. */
async function withinLimit(work: Promise<void>, milliseconds: number): Promise<boolean> {
  const late = Promise.withResolvers<false>()
  const timer = setTimeout(
    safely('schedules.limit', () => late.resolve(false)),
    milliseconds,
  )
  try {
    return await Promise.race([work.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
