/** Runs functions for times that are due: one run of a function at a time, and each time at most once. */
import { RpcError, type RunOutcome, type ScheduleRecord } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Log } from '@selvedge/service-kit/log'
import { inBackground } from '@selvedge/service-kit/safely'
import type { Route } from '../containers/views.ts'
import { type HandledTimesStore, withUntil } from './handled-times.ts'
import { failed, runEvent } from './run-event.ts'
import { createStartSlots } from './start-slots.ts'
import type { DueTime } from './timetable.ts'

export interface RunsParts {
  readonly handled: HandledTimesStore
  readonly clock: Clock
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly log: Log
}

/** A function as it is run. */
type Target = Pick<Route, 'service' | 'settings'>

/** How a time was handled. */
type Outcome = Pick<NonNullable<ScheduleRecord['last']>, 'outcome' | 'detail'>

export interface RunsOf {
  /** The function as it is now; undefined if it is not to run any more. @param key of the container */
  readonly find: (key: string) => Target | undefined
  /** Writes a line of the runtime to the log of the function. */
  readonly note: (key: string, text: string) => void
}

export interface Runs {
  /**
   * Handles times of a function that are due, in the background. If a run is under way they are skipped, with a line in the log.
   *
   * @param missed whether times that passed a while ago are run
   */
  handle(key: string, due: readonly DueTime[], missed: 'skip' | 'run-once'): void
  /**
   * Runs a function now, for a time that is not one of its own.
   *
   * @throws RpcError `busy` while a run of it is under way
   */
  runNow(key: string, target: Target, event: DueTime): Promise<RunOutcome>
  last(key: string): ScheduleRecord['last']
  /** Forgets what is not in a set of keys. */
  keep(keys: ReadonlySet<string>): void
  /** No run begins any more. */
  close(): void
}

/** Milliseconds after which a time counts as missed. */
const punctualMs = 60_000

export function createRuns(parts: RunsParts, { find, note }: RunsOf): Runs {
  const { handled, clock, log } = parts
  const runParts = { inSlot: createStartSlots(), now: parts.now }
  /** What each function runs now. */
  const underWay = new Map<string, DueTime>()
  const { finish, last, keep } = createOutcomes(note)
  let isClosed = false

  const remember = (key: string, time: number) => rememberTime(handled, key, time)

  /** On the disk first: a run that a power cut ends is not repeated. */
  async function run(key: string, due: readonly DueTime[]): Promise<void> {
    try {
      await remember(key, due.at(-1)!.time)
    } catch (cause) {
      log.warn('a time of a function could not be stored, and is not run', { key, cause })
      for (const each of due) finish(key, each, failed(cause))
      return
    }
    for (const each of due) {
      const target = isClosed ? undefined : find(key)
      if (!target) return
      underWay.set(key, each)
      finish(key, each, await runEvent(runParts, target, each))
    }
  }

  function skip(key: string, due: readonly DueTime[], detail: string): void {
    for (const each of due) finish(key, each, { outcome: 'skipped', detail })
    const stored = remember(key, due.at(-1)!.time)
    inBackground(
      'schedules.skip',
      stored.catch((cause) => log.warn('a skipped time of a function could not be stored', { key, cause })),
    )
  }

  return {
    handle(key, due, missed) {
      const current = underWay.get(key)
      if (current) {
        skip(key, due, `the run of ${isoTime(current.time)} is still under way`)
        return
      }
      const now = clock.now()
      const late = due.filter(({ time }) => missed === 'skip' && now - time > punctualMs)
      if (late.length > 0) skip(key, late, 'it was missed (MCM.CRON_MISSED)')
      const rest = due.filter((each) => !late.includes(each))
      if (rest.length === 0) return
      underWay.set(key, rest[0]!)
      inBackground(
        'schedules.run',
        run(key, rest).finally(() => underWay.delete(key)),
      )
    },
    async runNow(key, target, event) {
      const current = underWay.get(key)
      if (current)
        throw new RpcError('busy', `the run of ${isoTime(current.time)} (${current.cron}) is still under way`)
      underWay.set(key, event)
      try {
        const outcome = await runEvent(runParts, target, event)
        finish(key, event, outcome)
        return outcome
      } finally {
        underWay.delete(key)
      }
    },
    ...{ last, keep },
    close() {
      isClosed = true
    },
  }
}

/** The last outcome of each function, and lines in its log. */
function createOutcomes(note: RunsOf['note']) {
  const lasts = new Map<string, NonNullable<ScheduleRecord['last']>>()
  return {
    finish(key: string, { cron, time }: DueTime, { outcome, detail }: Outcome): void {
      const scheduledAt = isoTime(time)
      lasts.set(key, { cron, scheduledAt, outcome, detail })
      if (outcome !== 'succeeded')
        note(key, `the run of ${scheduledAt} (${cron}) ${wordsOf[outcome]}: ${detail}`)
    },
    last: (key: string): ScheduleRecord['last'] => lasts.get(key) ?? null,
    keep(keys: ReadonlySet<string>): void {
      for (const key of lasts.keys()) if (!keys.has(key)) lasts.delete(key)
    },
  }
}

/** Notes in memory, and on the disk, that a time is handled. @throws StoreError; then it is in memory only */
async function rememberTime(handled: HandledTimesStore, key: string, time: number): Promise<void> {
  handled.updateLazily((value) => ((value[key]?.until ?? time) < time ? withUntil(value, key, time) : value))
  await handled.update((value) => value)
}

const wordsOf = { failed: 'failed', timed_out: 'timed out', skipped: 'was skipped' } as const
