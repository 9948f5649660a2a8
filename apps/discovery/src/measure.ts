/** What the discovery service measures of itself. Without metrics nothing is wrapped. */
import type { HotPath } from '@selvedge/service-kit/http-app'
import type { Metrics } from '@selvedge/service-kit/metrics'
import { createWorkCount } from '@selvedge/service-kit/work'
import type { ReportsEndpoint } from './endpoints/fixes.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { Trust } from './trust/trust.ts'

/** Reports, and how many of them are under way. */
export function measureReports(
  endpoint: ReportsEndpoint,
  metrics: Metrics | undefined,
): { readonly endpoint: HotPath; readonly underWay: () => number } {
  if (!metrics) return { endpoint, underWay: () => 0 }
  const reports = metrics.counter(
    'selvedge_reports_total',
    'Reports of nodes: with a new fix, with fixes that were known or older, without a fix (keepalive), or refused.',
    { outcome: ['new', 'known', 'keepalive', 'refused'] },
  )
  let accepted = 0
  const requests = createWorkCount()
  metrics.total('selvedge_fixes_total', 'Fixes that were new.', () => accepted)
  const answer: typeof endpoint.answer = (request) =>
    requests.during(async () => {
      try {
        const receipt = await endpoint.answer(request)
        accepted += receipt.accepted
        reports.count(receipt.newest === -1 ? 'keepalive' : receipt.accepted > 0 ? 'new' : 'known')
        return receipt
      } catch (cause) {
        reports.count('refused')
        throw cause
      }
    })
  return { endpoint: { ...endpoint, answer }, underWay: () => requests.underWay }
}

const queues = ['reports', 'signs_of_life', 'locations', 'store'] as const

export interface DiscoveryReadings {
  readonly reports: { readonly underWay: () => number }
  readonly registry: { readonly waiting: () => number }
  readonly store: { readonly waiting: () => number }
  /** Operations of the stores without an answer. */
  readonly operations: () => number
  readonly trust: Pick<Trust, 'oldestAgeSeconds'>
}

export function measureDiscovery({ gauge, gauges }: Metrics, readings: DiscoveryReadings): void {
  gauges(
    'selvedge_queue_length',
    'What waits: reports without an answer, signs of life and locations that were not written yet, operations of the stores without an answer.',
    { queue: queues },
    () => ({
      reports: readings.reports.underWay(),
      signs_of_life: readings.registry.waiting(),
      locations: readings.store.waiting(),
      store: readings.operations(),
    }),
  )
  gauge(
    'selvedge_revocation_list_checked_seconds',
    'Time since the list of revoked tokens of each issuer was confirmed; the longest. Absent until the first time.',
    () => readings.trust.oldestAgeSeconds(),
  )
}

export function measureSessions(sessions: Sessions, metrics: Metrics | undefined): Sessions {
  if (!metrics) return sessions
  const begun = metrics.counter('selvedge_node_sessions_total', 'Sessions that nodes began.')
  return {
    ...sessions,
    begin(...request) {
      const response = sessions.begin(...request)
      begun.count()
      return response
    },
  }
}
