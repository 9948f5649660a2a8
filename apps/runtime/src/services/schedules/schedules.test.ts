/** Functions run at their times: each time at most once, one run at a time, whatever the clock of the device does. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readSettings } from '@selvedge/protocol'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Running } from '../containers/instances.ts'
import type { Route } from '../containers/views.ts'
import { keyOf } from '../deployments/ownership.ts'
import type { ScheduledEvent } from '../engines/engine.ts'
import { type HandledTimesStore, openHandledTimes } from './handled-times.ts'
import { createSchedules, type Schedules } from './schedules.ts'

const minute = 60_000
const day = 24 * 60 * minute
const start = Date.parse('2026-01-01T00:00:30Z')
const iso = (time: number) => new Date(time).toISOString()

let folder: string
let handled: HandledTimesStore
let schedules: Schedules
let clock: ReturnType<typeof createFakeClock>
let log: ReturnType<typeof createMemoryLog>
let functions: Map<string, TestFunction>
let notes: string[]

/** A deployed function, and what it was called with. */
interface TestFunction {
  env: Record<string, string>
  failed: string | null
  isStopped: boolean
  readonly events: ScheduledEvent[]
  /** What its handler does. */
  handle: () => Promise<void>
  acquire: () => Promise<void>
  readonly retired: Running[]
  readonly underWay: () => number
}

const key = (name: string) => keyOf({ account_id: 'a', client_id: 'c' }, name)

function deploy(name: string, cron: string, env: Record<string, string> = {}): TestFunction {
  let underWay = 0
  const one: TestFunction = {
    env: { 'MCM.CRON': cron, ...env },
    failed: null,
    isStopped: false,
    events: [],
    handle: async () => undefined,
    acquire: async () => undefined,
    retired: [],
    underWay: () => underWay,
  }
  functions.set(name, one)
  return Object.assign(one, {
    running: {
      plan: { content: { kind: 'function' } },
      lastUsed: 0,
      requests: {
        begin() {
          underWay++
          return () => underWay--
        },
      },
      instance: {
        async runScheduled(event: ScheduledEvent) {
          one.events.push(event)
          await one.handle()
        },
      },
    },
  })
}

const routes = (): Route[] =>
  [...functions].map(
    ([name, one]) =>
      ({
        container: { accountId: 'a', clientId: 'c', name, failed: one.failed },
        settings: readSettings(one.env),
        isStopped: () => one.isStopped,
        service: {
          async acquire() {
            await one.acquire()
            return (one as unknown as { running: Running }).running
          },
          retire: (running: Running) => one.retired.push(running),
        },
      }) as unknown as Route,
  )

function open(store: HandledTimesStore = handled): Schedules {
  const opened = createSchedules({
    store: {
      get value() {
        return { containers: Object.fromEntries([...functions].map(([name]) => [key(name), {}])) } as never
      },
    },
    handled: store,
    clock,
    log,
    now: () => 0,
  })
  opened.follow({ routes, note: (of, text) => notes.push(`${of}: ${text}`) })
  opened.start()
  return opened
}

/** Moves the clock, and waits until nothing is to do any more. */
async function at(time: number): Promise<void> {
  clock.set(time)
  await schedules.refresh()
  await handled.settled()
  // What begins after the write needs no more than the rest of this turn.
  await nextTurn()
  await expect.poll(() => [...functions.values()].every((one) => one.underWay() === 0)).toBe(true)
}

/** Closes the runtime and opens it again at another time. */
async function restart(time: number): Promise<void> {
  schedules.close()
  await handled.close()
  handled = await openHandledTimes(folder)
  clock.set(time)
  schedules = open()
  await at(time)
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'schedules-'))
  clock = createFakeClock(start)
  log = createMemoryLog()
  functions = new Map()
  notes = []
  handled = await openHandledTimes(folder)
  schedules = open()
})
afterEach(async () => {
  schedules.close()
  await handled.close()
  rmSync(folder, { recursive: true })
})

const recordOf = (name: string) => schedules.record(key(name), readSettings(functions.get(name)!.env))

describe('a function', () => {
  it('is called when a time is due, with the expression and the time', async () => {
    const one = deploy('one', '*/5 * * * *')
    await at(start)
    expect(recordOf('one')).toEqual({ nextAt: iso(start + 4.5 * minute), last: null })
    await at(start + 5 * minute)
    const due = { cron: '*/5 * * * *', time: start + 4.5 * minute }
    expect(one.events).toEqual([due])
    await expect
      .poll(() => recordOf('one'))
      .toEqual({
        nextAt: iso(start + 9.5 * minute),
        last: { cron: due.cron, scheduledAt: iso(due.time), outcome: 'succeeded', detail: null },
      })
    expect(notes).toEqual([])
  })

  it('gets an event for each expression, one after the other', async () => {
    const one = deploy('one', '1 * * * *; * * * * *')
    await at(start)
    let most = 0
    one.handle = async () => void (most = Math.max(most, one.underWay()))
    await at(start + minute)
    await expect.poll(() => one.events.map(({ cron }) => cron)).toEqual(['1 * * * *', '* * * * *'])
    expect(most).toBe(1)
  })

  it('is not called twice for a time: by another check, a clock that was set back, or a restart', async () => {
    const one = deploy('one', '* * * * *', { 'MCM.CRON_MISSED': 'run-once' })
    await at(start)
    await at(start + minute)
    await at(start + minute + 1)
    await at(start - 10 * minute)
    await at(start + minute)
    await restart(start + minute)
    expect(one.events).toHaveLength(1)
    await at(start + 2 * minute)
    expect(one.events).toHaveLength(2)
  })

  it('is called again when the clock was a year ahead and is corrected', async () => {
    const one = deploy('one', '0 * * * *', { 'MCM.CRON_MISSED': 'run-once' })
    await at(start)
    await at(start + 365 * day)
    expect(one.events).toHaveLength(1)
    await at(start)
    expect(recordOf('one')?.nextAt).toBe('2026-01-01T01:00:00.000Z')
    await at(Date.parse('2026-01-01T01:00:00Z'))
    expect(one.events).toHaveLength(2)
  })

  it('is not called while it is stopped or has failed', async () => {
    const one = deploy('one', '* * * * *')
    await at(start)
    one.isStopped = true
    await at(start + minute)
    one.isStopped = false
    one.failed = 'it exited too often'
    await at(start + 2 * minute)
    expect(one.events).toEqual([])
    expect(recordOf('one')?.nextAt).toBeNull()
  })

  it('counts changed times from when they were deployed', async () => {
    const one = deploy('one', '0 12 * * *', { 'MCM.CRON_MISSED': 'run-once' })
    await at(start)
    one.env = { ...one.env, 'MCM.CRON': '0 1 * * *' }
    await at(start + 23 * 60 * minute)
    expect(one.events).toEqual([])
    one.env = { ...one.env, 'MCM.CRON_TZ': 'Asia/Tokyo' }
    await at(start + 23 * 60 * minute)
    await at(start + 24 * 60 * minute)
    expect(one.events).toEqual([])
  })

  it('keeps its times when it is deployed again with the same', async () => {
    const one = deploy('one', '0 12 * * *', { 'MCM.CRON_MISSED': 'run-once' })
    await at(start)
    one.env = { ...one.env, OTHER: 'x' }
    await at(start + 23 * 60 * minute)
    expect(one.events).toHaveLength(1)
  })

  it('is forgotten when it is removed', async () => {
    deploy('one', '* * * * *')
    await at(start)
    expect(Object.keys(handled.value)).toEqual([key('one')])
    functions.clear()
    await at(start + minute)
    await restart(start + minute)
    expect(handled.value).toEqual({})
  })
})

describe('times that passed while the runtime was off', () => {
  it('are left out by default, with a line in the log', async () => {
    const one = deploy('one', '0 * * * *')
    await at(start)
    await restart(start + day + 30 * minute)
    expect(one.events).toEqual([])
    expect(recordOf('one')?.last).toMatchObject({
      outcome: 'skipped',
      scheduledAt: '2026-01-02T00:00:00.000Z',
    })
    expect(notes).toEqual([
      `${key('one')}: the run of 2026-01-02T00:00:00.000Z (0 * * * *) was skipped: it was missed (MCM.CRON_MISSED)`,
    ])
  })

  it.each([
    ['a day', start + day, '2026-01-02T00:00:00Z'],
    ['ten years', start + 3652 * day, '2036-01-01T00:00:00Z'],
  ])('are run once for each expression where that is set, after %s', async (_, time, last) => {
    const one = deploy('one', '0 * * * *; 0 0 1 1 *', { 'MCM.CRON_MISSED': 'run-once' })
    await at(start)
    await restart(time)
    await restart(time + 1)
    await expect.poll(() => one.events.map(({ cron }) => cron)).toContain('0 * * * *')
    expect(one.events.filter(({ cron }) => cron === '0 * * * *')).toEqual([
      { cron: '0 * * * *', time: Date.parse(last) },
    ])
  })

  it('are run if they passed within the last minute', async () => {
    const one = deploy('one', '0 * * * *')
    await at(start)
    await restart(Date.parse('2026-01-01T01:01:00Z'))
    expect(one.events).toHaveLength(1)
  })

  it('are not known of a function that was deployed meanwhile', async () => {
    const one = deploy('one', '0 * * * *', { 'MCM.CRON_MISSED': 'run-once' })
    await restart(start + day)
    expect(one.events).toEqual([])
  })
})

describe('a run', () => {
  it('that is still under way lets the next time pass', async () => {
    const one = deploy('one', '* * * * *')
    await at(start)
    const first = Promise.withResolvers<void>()
    one.handle = () => first.promise
    clock.set(start + minute)
    await schedules.refresh()
    await expect.poll(() => one.events).toHaveLength(1)
    clock.set(start + 2 * minute)
    await schedules.refresh()
    expect(recordOf('one')?.last).toMatchObject({ outcome: 'skipped' })
    expect(notes).toEqual([expect.stringContaining('the run of 2026-01-01T00:01:00.000Z is still under way')])
    first.resolve()
    await expect.poll(() => recordOf('one')?.last).toMatchObject({ outcome: 'succeeded' })
    await at(start + 3 * minute)
    expect(one.events.map(({ time }) => iso(time))).toEqual([
      '2026-01-01T00:01:00.000Z',
      '2026-01-01T00:03:00.000Z',
    ])
  })

  it.each<[string, (one: TestFunction) => void]>([
    [
      'its handler fails',
      (one) => {
        one.handle = () => Promise.reject(new Error('no network'))
      },
    ],
    [
      'it cannot be started',
      (one) => {
        one.acquire = () => Promise.reject(new Error('no network'))
      },
    ],
  ])('is in the log and the record if %s, and the next one begins', async (_, breakIt) => {
    const one = deploy('one', '* * * * *')
    await at(start)
    breakIt(one)
    await at(start + minute)
    await expect.poll(() => recordOf('one')?.last).toMatchObject({ outcome: 'failed', detail: 'no network' })
    expect(notes).toEqual([
      `${key('one')}: the run of 2026-01-01T00:01:00.000Z (* * * * *) failed: no network`,
    ])
    Object.assign(one, { handle: async () => undefined, acquire: async () => undefined })
    await at(start + 2 * minute)
    await expect.poll(() => recordOf('one')?.last).toMatchObject({ outcome: 'succeeded' })
  })

  it('that does not end replaces its instance at its time limit', async () => {
    const one = deploy('one', '* * * * *', { 'MCM.MAX_EXECUTION_TIME_SEC': '0.1' })
    await at(start)
    one.handle = () => new Promise(() => undefined)
    clock.set(start + minute)
    await schedules.refresh()
    await expect.poll(() => recordOf('one')?.last).toMatchObject({ outcome: 'timed_out' })
    expect(one.retired).toHaveLength(1)
    expect(one.underWay()).toBe(0)
  })

  it('does not begin if its time cannot be stored, as it would be repeated after a power cut', async () => {
    const one = deploy('one', '* * * * *')
    await at(start)
    schedules.close()
    let isFull = true
    const full: HandledTimesStore = {
      ...handled,
      get value() {
        return handled.value
      },
      update: (change) => (isFull ? Promise.reject(new Error('no space')) : handled.update(change)),
    }
    schedules = open(full)
    await at(start + minute)
    await expect.poll(() => recordOf('one')?.last).toMatchObject({ outcome: 'failed', detail: 'no space' })
    expect(one.events).toEqual([])
    expect(log.lines.join()).toContain('could not be stored')
    isFull = false
    await at(start + 2 * minute)
    await expect.poll(() => one.events).toHaveLength(1)
  })

  it('does not begin after the runtime began to stop', async () => {
    const one = deploy('one', '* * * * *')
    await at(start)
    schedules.close()
    await at(start + minute)
    expect(one.events).toEqual([])
  })

  it('of a function that was removed meanwhile does not begin', async () => {
    const one = deploy('one', '1 * * * *; * * * * *')
    await at(start)
    const first = Promise.withResolvers<void>()
    one.handle = () => first.promise
    clock.set(start + minute)
    await schedules.refresh()
    await expect.poll(() => one.events).toHaveLength(1)
    functions.delete('one')
    await schedules.refresh()
    first.resolve()
    await expect.poll(() => one.underWay()).toBe(0)
    await schedules.refresh()
    expect(one.events).toHaveLength(1)
  })
})

describe('a run on request', () => {
  const owner = { account_id: 'a', client_id: 'c' }

  it('gets the first expression or another one, and leaves the times as they are', async () => {
    const one = deploy('one', '0 * * * *; 5 * * * *')
    await at(start)
    expect(await schedules.runNow(owner, 'one')).toEqual({ outcome: 'succeeded', detail: null })
    await schedules.runNow(owner, 'one', '1 2 3 4 5')
    expect(one.events).toEqual([
      { cron: '0 * * * *', time: start },
      { cron: '1 2 3 4 5', time: start },
    ])
    expect(recordOf('one')?.nextAt).toBe('2026-01-01T00:05:00.000Z')
    await at(Date.parse('2026-01-01T00:05:00Z'))
    expect(one.events).toHaveLength(3)
  })

  it('is there for a function without times, and reports what it failed with', async () => {
    const one = deploy('one', '')
    one.handle = () => Promise.reject(new Error('no network'))
    await at(start)
    expect(await schedules.runNow(owner, 'one')).toEqual({ outcome: 'failed', detail: 'no network' })
    expect(one.events).toMatchObject([{ cron: '* * * * *' }])
  })

  it('is refused while another one is under way, which a time that comes meanwhile is skipped for', async () => {
    const one = deploy('one', '* * * * *')
    await at(start)
    const first = Promise.withResolvers<void>()
    one.handle = () => first.promise
    const run = schedules.runNow(owner, 'one')
    await expect(schedules.runNow(owner, 'one')).rejects.toMatchObject({ reason: 'busy' })
    clock.set(start + minute)
    await schedules.refresh()
    expect(recordOf('one')?.last).toMatchObject({ outcome: 'skipped' })
    first.resolve()
    expect(await run).toMatchObject({ outcome: 'succeeded' })
    expect(one.events).toHaveLength(1)
  })

  it.each([
    ['another account', { account_id: 'b', client_id: 'c' }],
    ['another client', { account_id: 'a', client_id: 'd' }],
  ])('is not found by %s', async (_, other) => {
    const one = deploy('one', '* * * * *')
    await at(start)
    await expect(schedules.runNow(other, 'one')).rejects.toMatchObject({ reason: 'not_found' })
    expect(one.events).toEqual([])
  })
})

describe('a hundred functions with the same expression', () => {
  it('are started a few at a time, and all of them run', async () => {
    let starting = 0
    let most = 0
    const all = Array.from({ length: 100 }, (_, number) => {
      const one = deploy(`f${number}`, '* * * * *')
      one.acquire = async () => {
        most = Math.max(most, ++starting)
        await Promise.resolve()
        starting--
      }
      return one
    })
    await at(start)
    await at(start + minute)
    await expect.poll(() => all.every(({ events }) => events.length === 1)).toBe(true)
    expect(most).toBe(4)
  })

  it('run although one of them breaks everything that it can', async () => {
    const bad = deploy('bad', '* * * * *')
    const good = deploy('good', '* * * * *')
    await at(start)
    bad.acquire = () => {
      throw new Error('at once')
    }
    await at(start + minute)
    await expect.poll(() => good.events).toHaveLength(1)
  })
})
