import { type CaughtFailure, caughtFailures } from '@selvedge/service-kit/safely'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRetry } from './retry.ts'

let caught: CaughtFailure[]
const note = (failure: unknown) => caught.push(failure as CaughtFailure)
beforeEach(() => {
  caught = []
  caughtFailures.subscribe(note)
  vi.useFakeTimers()
})
afterEach(() => {
  caughtFailures.unsubscribe(note)
  vi.useRealTimers()
})

it.each<[string, () => Promise<boolean>]>([
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
])('work that %s is reported, and is done again after a pause and when it is woken', async (_, fail) => {
  let runs = 0
  const retry = createRetry('test.work', () => {
    runs++
    return runs < 4 ? fail() : Promise.resolve(true)
  })
  retry.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect({ runs, caught }).toMatchObject({ runs: 1, caught: [{ where: 'test.work' }] })
  await vi.advanceTimersByTimeAsync(1000)
  expect(runs).toBe(2)
  retry.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(runs).toBe(3)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(runs).toBe(4)
  expect(caught).toHaveLength(3)
  await retry.stop()
})
