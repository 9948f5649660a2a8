import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionFailure, type DiscoveryClient, OAuthFailure } from '@selvedge/client'
import { RpcError } from '@selvedge/protocol'
import { openDocument } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { manyTurns } from '../../../../../tests/harness/unread.ts'
import { createLink } from '../../device/cloud/link.ts'
import { createNotices } from '../../device/node/notices.ts'
import { initialState, stateFormat } from '../../device/state.ts'
import type { DeviceClock } from '../../device/time/device-clock.ts'
import { waitLimitMs } from '../../device/time-limits.ts'
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
  const link = createLink(clock)
  const log = createMemoryLog()
  let restated = 0
  const publisher = createPublisher({
    url: 'https://discovery.example',
    client: {
      report: async (fixes: { fixedAt: number }[]) => {
        if (service.isAway) throw new ConnectionFailure('not_running', 'away')
        const times = fixes.map(({ fixedAt }) => fixedAt - now)
        service.reports.push(times)
        await service.check(times)
      },
    } as unknown as DiscoveryClient,
    session: {
      use: (_by, work) => work(() => ''),
      restate: () => void restated++,
      reportWithin: () => reportWithin,
    },
    state,
    clock,
    link,
    log,
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
    link,
    log,
    state,
    time,
    restated: () => restated,
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

/** What a caller gets now, without the passing of time: "waits" if it still waits. */
const resultNow = (published: Promise<boolean>) =>
  Promise.race([published, new Promise((resolve) => setImmediate(resolve, 'waits'))])

describe('a report', () => {
  /** A report is on its way; `answer` settles it, and later ones succeed. */
  async function openSending(options: Parameters<typeof open>[0] = {}) {
    const opened = await open(options)
    const answer = Promise.withResolvers<void>()
    opened.service.check = () => answer.promise
    const { published } = await opened.begin(1)
    opened.service.check = () => undefined
    return { ...opened, answer, published }
  }
  const refusal = new OAuthFailure('invalid_request', 'a fix is in the future', 400)

  it('that fails ends the wait for all fixes at once', async () => {
    const { begin, answer, published, close } = await openSending()
    const later = await begin(2)
    answer.reject(new ConnectionFailure('timeout', 'the answer did not come'))
    expect([await resultNow(published), await resultNow(later.published)]).toEqual([false, false])
    await close()
  })

  it('that is refused ends the wait for its fix at once, but not for a later one, which is sent next', async () => {
    const { service, begin, answer, published, close } = await openSending()
    const later = await begin(2)
    answer.reject(refusal)
    expect(await resultNow(published)).toBe(false)
    expect(await later.published).toBe(true)
    expect(service.reports).toEqual([[1], [2]])
    await close()
  })

  it('that is refused for its fix is sent again without it, for the statement', async () => {
    const { service, publisher, answer, published, close } = await openSending()
    const stated = publisher.restate()
    answer.reject(refusal)
    expect([await resultNow(published), await resultNow(stated)]).toEqual([false, true])
    expect(service.reports).toEqual([[1], []])
    await close()
  })

  it('without an answer ends the wait of callers, and counts when it arrives late', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { begin, answer, link, state, time, published, close } = await openSending()
      time.advance(waitLimitMs)
      vi.advanceTimersByTime(waitLimitMs)
      expect(await published).toBe(false)
      expect(link.status()).toMatchObject({
        reachable: false,
        lastError: `https://discovery.example did not answer within ${waitLimitMs} ms`,
      })
      expect(await resultNow((await begin(2)).published)).toBe(false)
      answer.resolve()
      await expect.poll(() => state.value.fix?.published).toBe(true)
      expect(link.status()).toMatchObject({ reachable: true })
      await close()
    } finally {
      vi.useRealTimers()
    }
  })

  it('that succeeds marks no later fix as published', async () => {
    const { service, begin, state, answer, published, close } = await openSending()
    service.isAway = true
    const later = await begin(2)
    answer.resolve()
    expect([await published, await later.published]).toEqual([true, false])
    expect(state.value.fix?.published).toBe(false)
    await close()
  })

  it('that succeeds after the device changed hands marks nothing', async () => {
    const { changeHands, state, link, answer, published, close } = await openSending()
    await changeHands('b')
    answer.resolve()
    expect(await published).toBe(true)
    expect([state.value.fix, link.status().reachable]).toEqual([null, true])
    await close()
  })
})

describe('the outcome of a report', () => {
  it('is in the state of the connection, and the fix is marked as published', async () => {
    const { service, publish, link, log, state, time, close } = await open()
    service.isAway = true
    expect(await publish(1)).toBe(false)
    expect(link.status()).toMatchObject({ reachable: false, lastError: 'away' })
    expect(state.value.fix?.published).toBe(false)
    service.isAway = false
    time.advance(2000)
    expect(await publish(2)).toBe(true)
    expect(link.status()).toMatchObject({ reachable: true })
    expect(state.value.fix).toEqual({ ...fixAt(time.now() - 2000 + 2), published: true })
    // Only failures without a known cause are errors of the program.
    expect(log.lines).toEqual([])
    await close()
  })

  it('is an error in the log if the program failed, and is no failure of the connection if identity did', async () => {
    const { service, publish, link, log, time, close } = await open()
    service.check = () => {
      throw new RpcError('busy', 'identity is away')
    }
    expect(await publish(1)).toBe(false)
    expect(link.status().reachable).toBeNull()
    expect(log.lines).toEqual([])
    time.advance(2000)
    service.check = () => {
      throw new TypeError('broken')
    }
    expect(await publish(2)).toBe(false)
    expect(link.status()).toMatchObject({ reachable: false, lastError: 'broken' })
    expect(log.lines.join()).toContain('broken')
    await close()
  })

  it('is known for a fix that was sent, and for older ones', async () => {
    const { service, publish, publisher, time, close } = await open()
    expect(await publish(5)).toBe(true)
    service.isAway = true
    expect(await publisher.publish(time.now() + 5)).toBe(true)
    expect(await publisher.publish(time.now() + 4)).toBe(true)
    expect(service.reports).toEqual([[5]])
    await close()
  })

  it('is a failure at once for a second after a slow failure', async () => {
    const { service, publish, time, close } = await open()
    service.check = () => {
      time.advance(600)
      throw new ConnectionFailure('timeout', 'slow')
    }
    expect(await publish(1)).toBe(false)
    const before = service.reports.length
    expect(await publish(2)).toBe(false)
    expect(service.reports).toHaveLength(before)
    await close()
  })
})

describe('a statement', () => {
  it('is sent again with the session, once it has changed', async () => {
    const { service, publisher, restated, close } = await open()
    expect(await publisher.restate()).toBe(true)
    expect([restated(), service.reports.length]).toEqual([1, 1])
    expect(await publisher.restate()).toBe(true)
    expect([restated(), service.reports.length]).toEqual([2, 2])
    await close()
  })

  it('of a device without an account is not sent', async () => {
    const { service, publisher, state, close } = await open()
    await state.update((value) => ({ ...value, accountId: '' }))
    expect(await resultNow(publisher.restate())).toBe(false)
    publisher.resume()
    expect(service.reports).toEqual([])
    await close()
  })
})

describe('the next attempt', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is made within a second after a failure, and no other one is planned after a success', async () => {
    const { service, begin, publish, close } = await open()
    service.isAway = true
    expect(await publish(1)).toBe(false)
    service.isAway = false
    await vi.advanceTimersByTimeAsync(1000)
    expect(service.reports).toEqual([[1]])
    expect(vi.getTimerCount()).toBe(0)
    const { published } = await begin(2)
    expect(await resultNow(published)).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
    await close()
  })
})

describe('a keep-alive', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is sent when the service wants one, until the publisher stops', async () => {
    const { service, publisher, time, close } = await open({ reportWithin: 30_000 })
    publisher.resume()
    await expect.poll(() => service.reports).toHaveLength(1)
    vi.advanceTimersByTime(5000)
    await manyTurns()
    expect(service.reports).toHaveLength(1)
    time.advance(30_000)
    vi.advanceTimersByTime(5000)
    await expect.poll(() => service.reports).toHaveLength(2)
    await close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('contains a fix that the service refused a minute ago', async () => {
    const { service, publisher, publish, time, close } = await open()
    service.check = ({ length }) => {
      if (length > 0) throw new OAuthFailure('invalid_request', 'a fix is in the future', 400)
    }
    publisher.resume()
    expect(await publish(1)).toBe(false)
    service.check = () => undefined
    await manyTurns()
    service.reports.length = 0
    time.advance(59_999)
    vi.advanceTimersByTime(5000)
    await manyTurns()
    expect(service.reports).toEqual([])
    time.advance(1)
    vi.advanceTimersByTime(5000)
    await expect.poll(() => service.reports).toEqual([[1]])
    await close()
  })

  it('is not sent without an account', async () => {
    const { service, publisher, state, time, close } = await open({ reportWithin: 30_000 })
    await state.update((value) => ({ ...value, accountId: '' }))
    publisher.resume()
    time.advance(60_000)
    vi.advanceTimersByTime(5000)
    await manyTurns()
    expect(service.reports).toEqual([])
    await close()
  })
})

it('a publisher that stops ends the wait of its callers', async () => {
  const { service, begin, publisher, state } = await open()
  const answer = Promise.withResolvers<void>()
  service.check = () => answer.promise
  const { published } = await begin(1)
  await expect.poll(() => service.reports).toHaveLength(1)
  const stopping = publisher.stop()
  expect(await published).toBe(false)
  answer.resolve()
  await stopping
  await state.close()
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

it('sends the newest fix alone if no track is recorded', async () => {
  const { service, publish, close } = await open()
  service.isAway = true
  for (const after of [1, 2]) await publish(after)
  service.isAway = false
  expect(await publish(3)).toBe(true)
  expect(service.reports).toEqual([[3]])
  await close()
})

it('stores the newest fixes of a track while the service is away, and raises a notice when older ones were dropped', async () => {
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
      await expect.poll(() => service.reports).toEqual([[]])
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
    await expect.poll(() => service.reports).toEqual([[1, 2, 3]])
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
