/** What the runtime measures of itself. No label is a node, an account, a client or a container. */
import { containerStates } from '@selvedge/protocol'
import { createStoreMeasures, type Metrics, measureDocument } from '@selvedge/service-kit/metrics'
import type { Device } from './device/device.ts'
import type { Measures } from './device/measures.ts'
import type { Location } from './location/location.ts'
import type { Services } from './services/services.ts'

const clockStates = ['trusted', 'held', 'unknown'] as const

/** Those with the value 1 of a gauge with one label. */
const only = (name: string): Readonly<Record<string, number>> => ({ [name]: 1 })

/** Events of containers that no caller caused. */
const containerEvents = ['restarted', 'failed', 'postponed', 'killed'] as const

export function createMeasures(metrics: Metrics | undefined): Measures {
  const events = metrics?.counter(
    'selvedge_container_events_total',
    'Containers that were restarted, given up (failed), could not be started for a reason of the device (postponed), or did not exit in their time after a stop (killed).',
    { event: containerEvents },
  )
  const stores = createStoreMeasures(metrics, ['state', 'deployments'])
  return {
    document: (name, store) => measureDocument(name, store, stores),
    changesUnderWay: () => stores?.underWay() ?? 0,
    containerEvent: (event) => events?.count(event),
  }
}

export function measureRuntime(
  metrics: Metrics,
  device: Device,
  location: Location,
  services: Services,
): void {
  const { gauge, gauges } = metrics
  measureDevice(metrics, device)
  gauges(
    'selvedge_cloud_reachable',
    'Whether the last request to a cloud service succeeded; absent before the first one.',
    { service: ['identity', 'discovery'] },
    () => ({
      ...reachable('identity', device.identity.link.status().reachable),
      ...reachable('discovery', location.discovery.link.status().reachable),
    }),
  )
  gauges(
    'selvedge_queue_length',
    'What waits: fixes and reports of the account that were not sent yet, changes that were not written yet.',
    { queue: ['fixes', 'account_report', 'store'] },
    () => {
      const { fix, report } = device.state.value
      return {
        fixes: fix?.published === false ? 1 : 0,
        account_report: report === null ? 0 : 1,
        store: device.measures.changesUnderWay(),
      }
    },
  )
  gauges(
    'selvedge_containers',
    'Containers of the associated account by state.',
    { state: containerStates },
    () => {
      const counts: Record<string, number> = Object.fromEntries(containerStates.map((state) => [state, 0]))
      for (const { state } of services.containers.summary()) counts[state] = (counts[state] ?? 0) + 1
      return counts
    },
  )
  gauge('selvedge_notices', 'Notices that getMe shows: what a person should attend to.', () => {
    return device.notices.list().length
  })
}

const reachable = (service: string, is: boolean | null): Readonly<Record<string, number>> =>
  is === null ? {} : { [service]: Number(is) }

function measureDevice({ gauge, gauges }: Metrics, { clock, callers, state }: Device): void {
  const ageOf = (time: string | null) => (time === null ? undefined : (clock.now() - Date.parse(time)) / 1000)
  gauges(
    'selvedge_clock_state',
    'The state of the device clock is the one with the value 1.',
    { state: clockStates },
    () => ({ trusted: 0, held: 0, unknown: 0, ...only(clock.state()) }),
  )
  gauge(
    'selvedge_revocation_list_age_seconds',
    'Time since the oldest list of revoked tokens was signed.',
    () => ageOf(callers.revocations.status().issuedAt),
  )
  gauge(
    'selvedge_revocation_list_checked_seconds',
    'Time since all lists of revoked tokens were confirmed to be the newest; absent until the first time.',
    () => ageOf(callers.revocations.status().checkedAt),
  )
  gauge('selvedge_fix_age_seconds', 'Age of the last fix that was stored; absent without one.', () => {
    const { fix } = state.value
    return fix ? (clock.now() - fix.receivedAt) / 1000 : undefined
  })
}
