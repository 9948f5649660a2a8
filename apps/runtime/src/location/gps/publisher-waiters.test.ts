import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createWaiters } from './publisher-waiters.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const waitedFor = (fixedAt: number) => ({ fixedAt, statement: 0 })

/** Callers that wait for fixes, and their results in order, as "<time of the fix> <result>". */
function open(...times: number[]) {
  const waiters = createWaiters(2000)
  const results: string[] = []
  for (const fixedAt of times)
    void waiters.wait(waitedFor(fixedAt)).then((isPublished) => results.push(`${fixedAt} ${isPublished}`))
  return { waiters, results }
}

it('ends the wait of those that are served, and of no other', async () => {
  const { waiters, results } = open(1, 2)
  waiters.settle(true, ({ fixedAt }) => fixedAt <= 1)
  await vi.advanceTimersByTimeAsync(1999)
  expect(results).toEqual(['1 true'])
  await vi.advanceTimersByTimeAsync(1)
  expect(results).toEqual(['1 true', '2 false'])
})

it.each([
  ['were served', 0],
  ['waited for too long', 2000],
])('forgets those that %s', async (_, waitMs) => {
  const { waiters, results } = open(1)
  if (waitMs === 0) waiters.settle(true)
  await vi.advanceTimersByTimeAsync(waitMs)
  void waiters.wait(waitedFor(2))
  const compared: number[] = []
  waiters.settle(true, ({ fixedAt }) => compared.push(fixedAt) > 0)
  expect([compared, results]).toEqual([[2], [`1 ${waitMs === 0}`]])
})

it('ends the wait of all, and leaves no timer behind', async () => {
  const { waiters, results } = open(1, 2)
  waiters.settle(false)
  await vi.advanceTimersByTimeAsync(0)
  expect([results, vi.getTimerCount()]).toEqual([['1 false', '2 false'], 0])
})
