import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionFailure, type DiscoveryClient, OAuthFailure } from '@selvedge/client'
import { openDocument } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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
    /** How the service refuses a report, at once or after a while. */
    check: (_times: readonly number[]): void | Promise<void> => undefined,
  }
  const notices = createNotices(clock, createMemoryLog())
  const publisher = createPublisher({
    client: {
      report: async (fixes: { fixedAt: number }[]) => {
        if (service.isAway) throw new ConnectionFailure('not_running', 'away')
        const times = fixes.map(({ fixedAt }) => fixedAt - now)
        service.reports.push(times)
        await service.check(times)
      },
    } as unknown as DiscoveryClient,
    session: { use: (work) => work(() => ''), restate: () => undefined, reportWithin: () => reportWithin },
    state,
    clock,
    link: createLink(clock),
    log: createMemoryLog(),
    notices,
  })
  /** Stores a fix and gives it to the publisher. It resolves before the fix is sent. */
  async function begin(after: number) {
    await state.update((value) => ({ ...value, fix: fixAt(now + after) }))
    return { published: publisher.publish(now + after) }
  }
  return {
    service,
    notices,
    publisher,
    /** The device changes hands, as `unassociateAccount` and `associateAccount` change the state. */
    async changeHands(accountId: string) {
      await state.update((value) => ({ ...value, accountId: '', fix: null, trackUntil: 0 }))
      await state.update((value) => ({ ...value, accountId, trackUntil: now + trackUntil }))
    },
    begin,
    publish: async (after: number) => (await begin(after)).published,
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

describe('fixes of a former account that were not sent', () => {
  it('are in no report of the next account', async () => {
    const { service, notices, publish, changeHands, close } = await open({ trackUntil: 1e9 })
    service.isAway = true
    for (let count = 1; count <= 150; count++) await publish(count)
    await changeHands('b')
    await publish(1001)
    expect(notices.has('fixes_dropped')).toBe(false)
    service.isAway = false
    expect(await publish(1002)).toBe(true)
    expect(service.reports).toEqual([[1001, 1002]])
    await close()
  })

  it.each(['restate', 'resume'] as const)(
    'are not in the first sign of life of the next account, which has no fix (%s)',
    async (begin) => {
      const { service, publisher, publish, changeHands, close } = await open({ trackUntil: 1e9 })
      service.isAway = true
      for (const after of [1, 2, 3]) await publish(after)
      await changeHands('b')
      service.isAway = false
      await publisher[begin]()
      await vi.waitFor(() => expect(service.reports).toEqual([[]]))
      await close()
    },
  )

  it('are not sent again when their report fails after the next account has come', async () => {
    const { service, begin, publish, changeHands, close } = await open({ trackUntil: 1e9 })
    service.isAway = true
    for (const after of [1, 2]) await publish(after)
    service.isAway = false
    const answer = Promise.withResolvers<void>()
    service.check = () => answer.promise
    const late = publish(3)
    await vi.waitFor(() => expect(service.reports).toEqual([[1, 2, 3]]))
    await changeHands('b')
    const { published } = await begin(1001)
    service.check = () => undefined
    answer.reject(new ConnectionFailure('timeout', 'the answer did not come'))
    // For the former account the fix did not arrive.
    expect(await Promise.all([late, published])).toEqual([false, true])
    expect(await publish(1002)).toBe(true)
    expect(service.reports.slice(1)).toEqual([[1001], [1002]])
    await close()
  })
})
