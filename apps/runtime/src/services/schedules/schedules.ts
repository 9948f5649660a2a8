/**
 * Calls functions at the times of `MCM.CRON`. Times are those of the clock of the device. It may be set at any moment: nothing waits longer
 * than a minute, and what is due is found out from the clock alone.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RpcError, type RunOutcome } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import { inBackground, reportFailure, safely } from '@selvedge/service-kit/safely'
import type { Containers } from '../containers/containers.ts'
import { findOwned } from '../containers/owned.ts'
import type { Owner } from '../deployments/ownership.ts'
import { createFollowed, type FollowedFunction, type FollowedParts, keyOfRoute } from './followed.ts'
import type { ScheduleKeeper } from './keeper.ts'
import { createRuns, type RunsParts } from './runs.ts'

export type SchedulesParts = RunsParts & FollowedParts

export interface Schedules extends ScheduleKeeper {
  /** Sets the containers: without this call no time is due. */
  follow(containers: Pick<Containers, 'routes' | 'note'>): void
  /** From now on functions run. To be called when what an earlier run left is recovered. */
  start(): void
  /**
   * Runs a function of an owner now. Its times stay as they are.
   *
   * @param cron what the function gets as expression
   * @throws RpcError `not_found`; `busy` while a run of it is under way
   */
  runNow(owner: Owner, idOrName: string, cron?: string): Promise<RunOutcome>
  close(): void
}

/** Milliseconds between two checks of the clock at most, and at least. */
const pauseMs = { most: 60_000, least: 10 }

export function createSchedules(parts: SchedulesParts): Schedules {
  const { store, clock } = parts
  let containers: Pick<Containers, 'routes' | 'note'> = { routes: () => [], note: () => undefined }
  const followed = createFollowed(parts)
  const runs = createRuns(parts, {
    find: (key) => followed.all().get(key)?.route,
    note: (key, text) => containers.note(key, text),
  })

  /** Handles what is due of one function. @returns its next time, or Infinity */
  function check(key: string, { route, timetable }: FollowedFunction): number {
    const now = clock.now()
    const due = timetable.due(followed.untilOf(key, now), now)
    if (due.length > 0) runs.handle(key, due, route.settings['MCM.CRON_MISSED'])
    return timetable.next(now)
  }

  /** @returns the next time of any function, or Infinity */
  async function checkAll(): Promise<number> {
    let next = Number.POSITIVE_INFINITY
    for (const [key, one] of followed.all()) {
      try {
        next = Math.min(next, check(key, one))
      } catch (cause) {
        reportFailure('schedules.check', cause)
      }
      // Hundreds of functions do not hold up requests.
      await nextTurn()
    }
    return next
  }

  const checks = createChecks(clock.now, checkAll)
  const refresh = () =>
    checks.after(async () => {
      await followed.read(containers.routes())
      runs.keep(new Set(followed.all().keys()))
    })

  return {
    follow(given) {
      containers = given
    },
    start() {
      checks.start()
      inBackground('schedules.start', refresh())
    },
    refresh,
    record(key, settings) {
      if (settings['MCM.CRON'].length === 0) return undefined
      const now = clock.now()
      const next = followed
        .all()
        .get(key)
        ?.timetable.next(Math.max(now, followed.untilOf(key, now)))
      return {
        nextAt: next === undefined || next === Number.POSITIVE_INFINITY ? null : isoTime(next),
        last: runs.last(key),
      }
    },
    async runNow(owner, idOrName, cron) {
      const [key] = findOwned(store.value, owner, idOrName)
      const target = containers.routes().find((route) => keyOfRoute(route) === key)
      if (!target) throw new RpcError('not_found', 'the container was removed meanwhile')
      const event = { cron: cron ?? target.settings['MCM.CRON'][0] ?? '* * * * *', time: clock.now() }
      return runs.runNow(key, target, event)
    },
    close() {
      checks.stop()
      runs.close()
    },
  }
}

/**
 * Checks again when the next time comes, one check after the other, from `start` to `stop`.
 *
 * @param now Unix milliseconds, by a clock that may be set
 * @param check gives the next time
 */
function createChecks(now: () => number, check: () => Promise<number>) {
  let timer: NodeJS.Timeout | undefined
  let isRunning = false
  let checking: Promise<void> = Promise.resolve()

  async function run(before?: () => Promise<void>): Promise<void> {
    if (!isRunning) return
    try {
      await before?.()
    } finally {
      const next = await check()
      clearTimeout(timer)
      const pause = Math.min(Math.max(next - now(), pauseMs.least), pauseMs.most)
      if (isRunning && next !== Number.POSITIVE_INFINITY)
        timer = setTimeout(
          safely('schedules.time', () => after()),
          pause,
        ).unref()
    }
  }

  /** @param work that changes what is checked. Never rejects */
  function after(work?: () => Promise<void>): Promise<void> {
    checking = checking.then(() => run(work)).catch((cause) => reportFailure('schedules.change', cause))
    return checking
  }

  return {
    after,
    start() {
      isRunning = true
    },
    stop() {
      isRunning = false
      clearTimeout(timer)
    },
  }
}
