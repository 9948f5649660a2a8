/** States to the owner, soon and not too often, that services started, paused or stopped by themselves, so that the console shows the state that the API shows. */
import { createLimiter } from '@selvedge/service-kit/http'
import { inBackground, safely } from '@selvedge/service-kit/safely'
import type { StatedServices } from './stated-services.ts'

/** Milliseconds from a change to its report: longer than a deployment needs to be announced, which reports the change as well. */
export const reportAfterMs = 2000
/** Reports of changes without a caller: some at once, then one in two minutes, since a function may start and pause all day. */
const rate = { burst: 10, perSecond: 1 / 120 }

interface ServiceReportParts {
  readonly stated: () => StatedServices
  /** Whether the link costs by its bytes: then the next regular statement has the states. */
  readonly isScarce: () => boolean
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

export interface ServiceReports {
  /** The services for a statement, which counts as a report of them. */
  stated(): StatedServices
  /** To be called when an instance started or stopped. @param report sends a statement, which reads the services */
  changed(report: () => Promise<void>): void
  close(): void
}

export function createServiceReports(parts: ServiceReportParts): ServiceReports {
  const limiter = createLimiter(rate, parts.now)
  let reported = ''
  let timer: NodeJS.Timeout | undefined

  const statesOf = (all: StatedServices) => JSON.stringify(all.map(({ id, state }) => [id, state]))
  const look = safely('services.report', (report: () => Promise<void>) => {
    timer = undefined
    if (parts.isScarce() || statesOf(parts.stated()) === reported) return
    const waitSeconds = limiter.take('')
    // If the service does not answer, the contact begins again, and reports the services.
    if (waitSeconds === 0)
      inBackground(
        'services.report',
        report().catch(() => undefined),
      )
    else lookAfter(waitSeconds * 1000, report)
  })
  function lookAfter(ms: number, report: () => Promise<void>): void {
    timer ??= setTimeout(look, ms, report)
  }

  return {
    stated() {
      const all = parts.stated()
      reported = statesOf(all)
      return all
    },
    changed: (report) => lookAfter(reportAfterMs, report),
    close: () => clearTimeout(timer),
  }
}
