/** Whether the identity service answers now: asked once at a time, within three seconds, and not again right after it was away. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createReachability, type Reachability } from './reachability.ts'

const one = 'https://one.example'
const other = 'https://other.example'
let confirmedAt: Record<string, number>
let fetched: number
/** What a fetch does. */
let fetchNow: () => Promise<boolean>
let reachability: Reachability
/** Milliseconds that pass at the next look at the clock, and four times as many at each further one: a busy machine stops processes anywhere. */
let pauseMs: number
const now = () => {
  vi.advanceTimersByTime(pauseMs)
  pauseMs *= 4
  return performance.now()
}
const confirm = (issuer: string) => {
  confirmedAt[issuer] = now()
}
beforeEach(() => {
  vi.useFakeTimers()
  confirmedAt = {}
  fetched = 0
  pauseMs = 0
  fetchNow = async () => false
  reachability = createReachability(
    {
      fetchNow: () => {
        fetched++
        return fetchNow()
      },
      knowledgeOf: (issuer) => ({
        issuedAt: 1,
        confirmedAt: confirmedAt[issuer] ?? Number.NEGATIVE_INFINITY,
        restartedAt: undefined,
      }),
    },
    now,
  )
})
afterEach(() => vi.useRealTimers())

it('an issuer that confirms its list is reachable, and is asked each time', async () => {
  fetchNow = async () => {
    confirm(one)
    return true
  }
  expect(await reachability.isReachable(one)).toBe(true)
  expect(await reachability.isReachable(one)).toBe(true)
  expect(fetched).toBe(2)
})

it('an issuer that confirmed its list a moment ago, and does not answer now, is away', async () => {
  confirm(one)
  vi.advanceTimersByTime(1)
  pauseMs = 10
  expect(await reachability.isReachable(one)).toBe(false)
})

it('an issuer that is away does not count as reachable because another one answers', async () => {
  fetchNow = async () => {
    confirm(other)
    return false
  }
  const [first, second] = await Promise.all([reachability.isReachable(one), reachability.isReachable(other)])
  expect([first, second, fetched]).toEqual([false, true, 1])
})

it('an issuer that is away is asked again after ten seconds, or counts when it answers another request', async () => {
  expect(await reachability.isReachable(one)).toBe(false)
  vi.advanceTimersByTime(9000)
  expect(await reachability.isReachable(one)).toBe(false)
  expect(fetched).toBe(1)
  confirm(one)
  expect(await reachability.isReachable(one)).toBe(true)
  confirmedAt = {}
  vi.advanceTimersByTime(999)
  expect(await reachability.isReachable(one)).toBe(false)
  expect(fetched).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await reachability.isReachable(one)).toBe(false)
  expect(fetched).toBe(2)
})

it('an answer leaves no timer behind', async () => {
  await reachability.isReachable(one)
  expect(vi.getTimerCount()).toBe(0)
})

it('an issuer that never answers is away after three seconds', async () => {
  fetchNow = () => new Promise(() => undefined)
  const asked = reachability.isReachable(one)
  await vi.advanceTimersByTimeAsync(3000)
  expect(await asked).toBe(false)
})

it('a fetch that fails is an issuer that is away', async () => {
  fetchNow = () => Promise.reject(new Error('broken'))
  expect(await reachability.isReachable(one)).toBe(false)
})
