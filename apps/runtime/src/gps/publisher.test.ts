import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionFailure, type DiscoveryClient, OAuthFailure } from '@selvedge/client'
import { openDocument } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createLink } from '../cloud/link.ts'
import { createNotices } from '../node/notices.ts'
import { initialState, stateFormat } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import { createPublisher } from './publisher.ts'

it.each([0, -1])(
  'a discovery service that wants to hear of a node within %d ms hears of it once, not without end',
  async (reportWithin) => {
    const folder = mkdtempSync(join(tmpdir(), 'publisher-'))
    const state = await openDocument(join(folder, 'state'), {
      ...stateFormat,
      initial: { ...initialState, accountId: 'a' },
    })
    let reports = 0
    const report = async () => {
      // Ends what would not end.
      if (++reports > 100) throw new ConnectionFailure('not_running', 'enough')
    }
    const time = createFakeClock()
    const clock = { ...time, monotonic: () => time.now() } as unknown as DeviceClock
    const publisher = createPublisher({
      client: { report } as unknown as DiscoveryClient,
      session: { use: (work) => work(() => ''), restate: () => undefined, reportWithin: () => reportWithin },
      state,
      clock,
      link: createLink(clock),
      log: { error: () => undefined } as never,
      notices: createNotices(clock, createMemoryLog()),
    })
    await publisher.restate()
    await publisher.stop()
    expect(reports).toBe(1)
    await state.close()
    rmSync(folder, { recursive: true })
  },
)

/** A fix at a moment, as the runtime stores it. */
const fixAt = (fixedAt: number) => ({
  signal: { longitude: 1, latitude: 2, speed: 0, bearing: 0 },
  fixedAt,
  receivedAt: fixedAt,
  source: 'api' as const,
  accuracy: null,
  published: false,
})

it('a fix that the service refuses, since the clock was ahead, holds up no later one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'publisher-'))
  const time = createFakeClock()
  const clock = { ...time, monotonic: () => time.now() } as unknown as DeviceClock
  const now = time.now()
  const state = await openDocument(join(folder, 'state'), {
    ...stateFormat,
    initial: { ...initialState, accountId: 'a', trackUntil: now + 1e9 },
  })
  const reports: number[][] = []
  let isAway = true
  const publisher = createPublisher({
    client: {
      report: async (fixes: { fixedAt: number }[]) => {
        if (isAway) throw new ConnectionFailure('not_running', 'away')
        reports.push(fixes.map(({ fixedAt }) => fixedAt - now))
        if (fixes.some(({ fixedAt }) => fixedAt > now + 60_000))
          throw new OAuthFailure('invalid_request', 'a fix is in the future', 400)
      },
    } as unknown as DiscoveryClient,
    session: { use: (work) => work(() => ''), restate: () => undefined, reportWithin: () => 1e9 },
    state,
    clock,
    link: createLink(clock),
    log: createMemoryLog(),
    notices: createNotices(clock, createMemoryLog()),
  })
  const publish = async (fixedAt: number) => {
    await state.update((value) => ({ ...value, fix: fixAt(fixedAt) }))
    return publisher.publish(fixedAt)
  }
  expect(await publish(now + 3_600_000)).toBe(false)
  // The clock is right again; the wrong fix waits for the track, before the new one.
  isAway = false
  expect(await publish(now + 1)).toBe(true)
  expect(reports).toEqual([[3_600_000, 1], [1]])
  // The newest one is refused alone: the next one is sent without it.
  expect(await publish(now + 7_200_000)).toBe(false)
  expect(await publish(now + 2)).toBe(true)
  expect(reports.slice(2)).toEqual([[7_200_000], [7_200_000, 2], [2]])
  await publisher.stop()
  await state.close()
  rmSync(folder, { recursive: true })
})

it('keeps the newest fixes of a track while the service is away, and a notice says that older ones were dropped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'publisher-'))
  const time = createFakeClock()
  const clock = { ...time, monotonic: () => time.now() } as unknown as DeviceClock
  const now = time.now()
  const state = await openDocument(join(folder, 'state'), {
    ...stateFormat,
    initial: { ...initialState, accountId: 'a', trackUntil: now + 1e9 },
  })
  const reports: number[][] = []
  let isAway = true
  const notices = createNotices(clock, createMemoryLog())
  const publisher = createPublisher({
    client: {
      report: async (fixes: { fixedAt: number }[]) => {
        if (isAway) throw new ConnectionFailure('not_running', 'away')
        reports.push(fixes.map(({ fixedAt }) => fixedAt - now))
      },
    } as unknown as DiscoveryClient,
    session: { use: (work) => work(() => ''), restate: () => undefined, reportWithin: () => 1e9 },
    state,
    clock,
    link: createLink(clock),
    log: createMemoryLog(),
    notices,
  })
  const publish = async (fixedAt: number) => {
    await state.update((value) => ({ ...value, fix: fixAt(now + fixedAt) }))
    return publisher.publish(now + fixedAt)
  }
  for (let count = 1; count <= 100; count++) await publish(count)
  expect(notices.has('fixes_dropped')).toBe(false)
  for (let count = 101; count <= 150; count++) await publish(count)
  expect(notices.has('fixes_dropped')).toBe(true)
  isAway = false
  expect(await publish(151)).toBe(true)
  expect(reports).toEqual([Array.from({ length: 100 }, (_, at) => 52 + at)])
  expect(notices.has('fixes_dropped')).toBe(false)
  await publisher.stop()
  await state.close()
  rmSync(folder, { recursive: true })
})
