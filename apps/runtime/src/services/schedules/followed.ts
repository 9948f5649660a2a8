/** The functions that are called at times, and up to when their times are handled. */
import type { ContainerSettings } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { shareResult } from '@selvedge/service-kit/share'
import type { Route } from '../containers/views.ts'
import type { DeploymentStore } from '../deployments/deployments.ts'
import { keyOf } from '../deployments/ownership.ts'
import { type HandledTimes, type HandledTimesStore, handledUntil, withUntil } from './handled-times.ts'
import { createTimetable, type Timetable } from './timetable.ts'

export interface FollowedParts {
  readonly store: Pick<DeploymentStore, 'value'>
  readonly handled: HandledTimesStore
  readonly clock: Clock
  readonly log: Log
}

/** A function that is to run and has times. */
export interface FollowedFunction {
  readonly route: Route
  /** The text of its times, and their time zone. */
  readonly cron: string
  readonly zone: string
  readonly timetable: Timetable
}

export interface Followed {
  /** By the keys of the containers. */
  all(): ReadonlyMap<string, FollowedFunction>
  /** Reads which functions there are. New times count from now; those of containers that are gone are forgotten. */
  read(routes: readonly Route[]): Promise<void>
  /** Up to when the times of a function are handled, in Unix milliseconds. */
  untilOf(key: string, now: number): number
}

export function createFollowed({ store, handled, clock, log }: FollowedParts): Followed {
  let all: ReadonlyMap<string, FollowedFunction> = new Map()
  const library = shareResult(() => import('./croner.lazy.ts'))

  async function followedOf(wanted: ReadonlyMap<string, Route>): Promise<typeof all> {
    if (wanted.size === 0) return new Map()
    const { Cron } = await library()
    const follow = ([key, route]: readonly [string, Route]) => {
      const { cron, zone } = timesOf(route.settings)
      const before = all.get(key)
      const isSame = before?.cron === cron && before.zone === zone
      const timetable = isSame ? before.timetable : createTimetable(Cron, route.settings['MCM.CRON'], zone)
      return [key, { route, cron, zone, timetable }] as const
    }
    return new Map([...wanted].map(follow))
  }

  return {
    all: () => all,
    async read(routes) {
      all = await followedOf(wantedOf(routes))
      const change = (value: HandledTimes) => changedTimes(value, all, store.value.containers, clock.now())
      if (change(handled.value) === handled.value) return
      handled.updateLazily(change)
      await handled
        .update((value) => value)
        .catch((cause) => log.warn('the times of functions could not be stored', { cause }))
    },
    untilOf(key, now) {
      const stored = handled.value[key]?.until ?? now
      const until = handledUntil(stored, now)
      if (until !== stored) handled.updateLazily((value) => withUntil(value, key, until))
      return until
    },
  }
}

const timesOf = (settings: ContainerSettings) => ({
  cron: settings['MCM.CRON'].join(';'),
  zone: settings['MCM.CRON_TZ'],
})

export const keyOfRoute = ({ container: { accountId, clientId, name } }: Route): string =>
  keyOf({ account_id: accountId, client_id: clientId }, name)

function wantedOf(routes: readonly Route[]): Map<string, Route> {
  const wanted = new Map<string, Route>()
  for (const route of routes) {
    const { settings, container, isStopped } = route
    if (settings['MCM.CRON'].length === 0 || container.failed !== null || isStopped()) continue
    wanted.set(keyOfRoute(route), route)
  }
  return wanted
}

/** The same object if nothing changes. */
function changedTimes(
  value: HandledTimes,
  followed: ReadonlyMap<string, Pick<FollowedFunction, 'cron' | 'zone'>>,
  containers: Readonly<Record<string, unknown>>,
  now: number,
): HandledTimes {
  const isNew = ([key, { cron, zone }]: readonly [string, Pick<FollowedFunction, 'cron' | 'zone'>]) =>
    value[key]?.cron !== cron || value[key].zone !== zone
  const gone = Object.keys(value).filter((key) => !Object.hasOwn(containers, key))
  const added = [...followed].filter(isNew)
  if (gone.length === 0 && added.length === 0) return value
  return Object.fromEntries([
    ...Object.entries(value).filter(([key]) => !gone.includes(key)),
    ...added.map(([key, { cron, zone }]) => [key, { cron, zone, until: now }] as const),
  ])
}
