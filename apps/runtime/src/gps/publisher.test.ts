import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionFailure, type DiscoveryClient, OAuthFailure } from '@selvedge/client'
import { openDocument } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLink } from '../cloud/link.ts'
import { createNotices } from '../node/notices.ts'
import { initialState, stateFormat } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import { createPublisher } from './publisher.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'publisher-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A publisher, and the discovery service that it reports to. Times are milliseconds from now on. */
async function open({ trackUntil = 0, reportWithin = 1e9 } = {}) {
  const time = createFakeClock()
  const clock = { ...time, monotonic: () => time.now() } as unknown as DeviceClock
  const now = time.now()
  const state = await openDocument(join(folder, 'state'), {
    ...stateFormat,
    initial: { ...initialState, accountId: 'a', trackUntil: now + trackUntil },
  })
  const service = {
    isAway: false,
    /** Times of the fixes of each report that arrived. */
    reports: [] as number[][],
    /** How the service refuses a report. */
    check: (_times: readonly number[]): void => undefined,
  }
  const notices = createNotices(clock, createMemoryLog())
  const publisher = createPublisher({
    client: {
      report: async (fixes: { fixedAt: number }[]) => {
        if (service.isAway) throw new ConnectionFailure('not_running', 'away')
        const times = fixes.map(({ fixedAt }) => fixedAt - now)
        service.reports.push(times)
        service.check(times)
      },
    } as unknown as DiscoveryClient,
    session: { use: (work) => work(() => ''), restate: () => undefined, reportWithin: () => reportWithin },
    state,
    clock,
    link: createLink(clock),
    log: createMemoryLog(),
    notices,
  })
  return {
    service,
    notices,
    publisher,
    async publish(after: number) {
      await state.update((value) => ({ ...value, fix: fixAt(now + after) }))
      return publisher.publish(now + after)
    },
    async close() {
      await publisher.stop()
      await state.close()
    },
  }
}

/** A fix at a moment, as the runtime stores it. */
const fixAt = (fixedAt: number) => ({
  signal: { longitude: 1, latitude: 2, speed: 0, bearing: 0 },
  fixedAt,
  receivedAt: fixedAt,
  source: 'api' as const,
  accuracy: null,
  published: false,
})

it.each([0, -1])(
  'reports once, not without end, to a service that wants reports within %d ms',
  async (reportWithin) => {
    const { service, publisher, close } = await open({ reportWithin })
    service.check = () => {
      // Ends what would not end.
      if (service.reports.length > 100) throw new ConnectionFailure('not_running', 'enough')
    }
    await publisher.restate()
    await close()
    expect(service.reports).toHaveLength(1)
  },
)

it('reports later fixes after the service refused one with a time in the future', async () => {
  const { service, publish, close } = await open({ trackUntil: 1e9 })
  service.isAway = true
  service.check = (times) => {
    if (times.some((each) => each > 60_000))
      throw new OAuthFailure('invalid_request', 'a fix is in the future', 400)
  }
  expect(await publish(3_600_000)).toBe(false)
  // The clock is right again; the wrong fix waits for the track, before the new one.
  service.isAway = false
  expect(await publish(1)).toBe(true)
  expect(service.reports).toEqual([[3_600_000, 1], [1]])
  // The newest one is refused alone: the next one is sent without it.
  expect(await publish(7_200_000)).toBe(false)
  expect(await publish(2)).toBe(true)
  expect(service.reports.slice(2)).toEqual([[7_200_000], [7_200_000, 2], [2]])
  await close()
})

it('stores the newest fixes of a track while the service is away, and a notice says that older ones were dropped', async () => {
  const { service, notices, publish, close } = await open({ trackUntil: 1e9 })
  service.isAway = true
  for (let count = 1; count <= 100; count++) await publish(count)
  expect(notices.has('fixes_dropped')).toBe(false)
  for (let count = 101; count <= 150; count++) await publish(count)
  expect(notices.has('fixes_dropped')).toBe(true)
  service.isAway = false
  expect(await publish(151)).toBe(true)
  expect(service.reports).toEqual([Array.from({ length: 100 }, (_, at) => 52 + at)])
  expect(notices.has('fixes_dropped')).toBe(false)
  await close()
})
