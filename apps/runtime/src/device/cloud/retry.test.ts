import { type CaughtFailure, caughtFailures } from '@selvedge/service-kit/safely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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
  vi.restoreAllMocks()
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

/** A retry of work that gives `results` in turn, then succeeds, with the milliseconds at which it ran. */
function record(...results: boolean[]) {
  const begunAt = Date.now()
  const runs: number[] = []
  const retry = createRetry('test.work', async () => {
    runs.push(Date.now() - begunAt)
    return results.shift() ?? true
  })
  return { retry, runs }
}
const never = Array.from({ length: 1000 }, () => false)

it('waits twice as long after each failure, up to a minute', async () => {
  // The random part is the whole of it.
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const { retry, runs } = record(...never)
  retry.wake()
  await vi.advanceTimersByTimeAsync(200_000)
  expect(runs.map((each) => each / 1000)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183])
  await retry.stop()
})

it('waits at least half of that', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const { retry, runs } = record(...never)
  retry.wake()
  await vi.advanceTimersByTimeAsync(4000)
  expect(runs).toEqual([0, 500, 1500, 3500])
  await retry.stop()
})

it('begins with a second again after a success', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const { retry, runs } = record(false, false, true, false)
  retry.wake()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(runs).toEqual([0, 1000, 3000])
  retry.wake()
  await vi.advanceTimersByTimeAsync(1000)
  expect(runs).toEqual([0, 1000, 3000, 10_000, 11_000])
  await retry.stop()
})

it('does nothing before it is woken', async () => {
  const { retry, runs } = record()
  await vi.advanceTimersByTimeAsync(100_000)
  expect(runs).toEqual([])
  await retry.stop()
})

it('does the work once for a call', async () => {
  const { retry, runs } = record()
  retry.wake()
  await vi.advanceTimersByTimeAsync(100_000)
  expect(runs).toHaveLength(1)
  await retry.stop()
})

describe('work under way', () => {
  /** Work with runs that end one by one, each with the result that `finish` is called with. */
  function hold() {
    const ends: ((done: boolean) => void)[] = []
    const retry = createRetry('test.work', () => new Promise<boolean>((resolve) => ends.push(resolve)))
    const finish = async (done: boolean) => {
      ends.at(-1)!(done)
      await vi.advanceTimersByTimeAsync(0)
    }
    return { retry, ends, finish }
  }

  it('is not done twice at a time, and is done once more after it if it was woken meanwhile', async () => {
    const { retry, ends, finish } = hold()
    for (let at = 0; at < 3; at++) retry.wake()
    expect(ends).toHaveLength(1)
    await finish(true)
    expect(ends).toHaveLength(2)
    await finish(true)
    await vi.advanceTimersByTimeAsync(100_000)
    expect(ends).toHaveLength(2)
    await retry.stop()
  })

  it('waits after a failure, also if it was woken meanwhile', async () => {
    const { retry, ends, finish } = hold()
    retry.wake()
    retry.wake()
    await finish(false)
    expect(ends).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1000)
    expect(ends).toHaveLength(2)
    await finish(true)
    await retry.stop()
  })

  it('is waited for by a stop, and is not done again', async () => {
    const { retry, ends, finish } = hold()
    retry.wake()
    retry.wake()
    let stopped = false
    const stopping = retry.stop().then(() => (stopped = true))
    await vi.advanceTimersByTimeAsync(0)
    expect(stopped).toBe(false)
    await finish(true)
    await stopping
    retry.wake()
    await vi.advanceTimersByTimeAsync(100_000)
    expect(ends).toHaveLength(1)
  })

  it('plans no attempt if it fails after a stop', async () => {
    const { retry, ends, finish } = hold()
    retry.wake()
    const stopping = retry.stop()
    await finish(false)
    await stopping
    expect(vi.getTimerCount()).toBe(0)
    expect(ends).toHaveLength(1)
  })

  it('is left alone by wakeIfIdle, and so is a planned attempt', async () => {
    const { retry, ends, finish } = hold()
    retry.wakeIfIdle()
    expect(ends).toHaveLength(1)
    retry.wakeIfIdle()
    await finish(false)
    retry.wakeIfIdle()
    expect(ends).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1000)
    await finish(true)
    await vi.advanceTimersByTimeAsync(0)
    expect(ends).toHaveLength(2)
    retry.wakeIfIdle()
    expect(ends).toHaveLength(3)
    await finish(true)
    await retry.stop()
  })
})

it('a stop cancels the planned attempt', async () => {
  const { retry, runs } = record(false)
  retry.wake()
  await vi.advanceTimersByTimeAsync(0)
  await retry.stop()
  await vi.advanceTimersByTimeAsync(100_000)
  expect(runs).toHaveLength(1)
})

it('a call in place of the planned attempt leaves no other one behind', async () => {
  const { retry, runs } = record(false, true)
  retry.wake()
  await vi.advanceTimersByTimeAsync(100)
  retry.wake()
  await vi.advanceTimersByTimeAsync(100_000)
  expect(runs).toEqual([0, 100])
  await retry.stop()
})
