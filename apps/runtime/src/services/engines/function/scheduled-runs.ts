/** Events that a function was sent and has not handled yet, on the side of the runtime. */
import { inBackground } from '@selvedge/service-kit/safely'
import type { ScheduledEvent, ToFunction } from './control.ts'
import { ProtocolError } from './frames.ts'

/** Maximum characters of what a function failed with. */
const maxWhy = 500

export interface ScheduledRuns {
  /** Sends an event. Resolves once it is handled. @throws Error with what the function failed with */
  run(event: ScheduledEvent): Promise<void>
  /** @throws ProtocolError for the number of an event that was never sent */
  onRan(id: number, failed: string | undefined): void
  /** Nothing answers any more, and no event can be sent. */
  giveUp(): void
}

/** @param send resolves once the peer has room for more */
export function createScheduledRuns(send: (message: ToFunction) => Promise<void>): ScheduledRuns {
  const waiting = new Map<number, PromiseWithResolvers<void>>()
  let last = 0
  let isOver = false
  const lost = () => new Error('the instance stopped before it had handled the event')

  return {
    async run({ cron, time }) {
      if (isOver) throw lost()
      const id = ++last
      const one = Promise.withResolvers<void>()
      waiting.set(id, one)
      inBackground('function.scheduled', send({ scheduled: id, cron, time }).catch(one.reject))
      try {
        await one.promise
      } finally {
        waiting.delete(id)
      }
    },
    onRan(id, failed) {
      if (id < 1 || id > last) throw new ProtocolError('a result of an event that was not sent')
      // It may come again: a hostile program gains nothing by it.
      if (failed === undefined) waiting.get(id)?.resolve()
      else waiting.get(id)?.reject(new Error(failed.slice(0, maxWhy)))
    },
    giveUp() {
      isOver = true
      for (const { reject } of waiting.values()) reject(lost())
    },
  }
}
