/** Runs work one after the other: an interface may come up and go down within a second. */
import type { Log } from '@selvedge/service-kit/log'

export interface OneAtATime {
  run(work: () => Promise<void>): void
  /** Resolves when all work that was started has finished. */
  settled(): Promise<void>
}

export function createOneAtATime(log: Log): OneAtATime {
  let last = Promise.resolve()
  let lastFailure = ''
  const succeed = () => {
    lastFailure = ''
  }
  const fail = (cause: Error) => {
    // The networks are checked again soon: a permanent failure is logged once.
    if (cause.message !== lastFailure) log.warn('link-local discovery failed; it is tried again', { cause })
    lastFailure = cause.message
  }
  return {
    run(work) {
      last = last.then(work).then(succeed, fail)
    },
    settled: () => last,
  }
}
