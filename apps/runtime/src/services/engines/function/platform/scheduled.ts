/** Calls the handler of a function for the event `scheduled`. */
import type { ScheduledEvent as ScheduledController } from '@selvedge/client/function'
import type { ScheduledEvent } from '../control.ts'

/** Resolves when the function has handled an event. Rejects with what its handler, or what it passed to `waitUntil`, failed with first. */
export type RunScheduled = (event: ScheduledEvent) => Promise<void>

/** @param handler gets the event, and a function for promises that belong to it */
export async function runScheduled(
  handler: (event: ScheduledController, waitUntil: (task: unknown) => void) => unknown,
  { cron, time }: ScheduledEvent,
): Promise<void> {
  const tasks: Promise<void>[] = []
  let failure: { readonly cause: unknown } | undefined
  const noteFailure = (cause: unknown) => {
    failure ??= { cause }
  }
  // A failed task is noted as soon as it fails: it is no unhandled rejection while others are awaited.
  const waitUntil = (task: unknown) => {
    tasks[tasks.length] = Promise.resolve(task).then(() => undefined, noteFailure)
  }
  const event: ScheduledController = {
    type: 'scheduled',
    cron,
    scheduledTime: time,
    noRetry: () => undefined,
  }
  try {
    await handler(event, waitUntil)
  } catch (cause) {
    noteFailure(cause)
  }
  // What a task adds is awaited, too.
  for (let at = 0; at < tasks.length; at++) await tasks[at]
  if (failure) throw failure.cause
}
