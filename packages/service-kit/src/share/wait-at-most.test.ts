import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { shareRun } from './share.ts'
import { waitAtMost, waitAtMostFor } from './wait-at-most.ts'

const limitMs = 4000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const late = () => new Error('late')

describe('a wait for shared work', () => {
  it('gives the result or the error of work that is in time, and leaves no timer', async () => {
    expect(await waitAtMost(Promise.resolve(1), limitMs, late)).toBe(1)
    await expect(waitAtMost(Promise.reject(new Error('refused')), limitMs, late)).rejects.toThrow('refused')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ends for its callers after the limit, while the work continues', async () => {
    const work = Promise.withResolvers<number>()
    let calls = 0
    const waited = waitAtMost(work.promise, limitMs, () => {
      calls++
      return late()
    })
    const outcome = waited.catch((cause: Error) => cause.message)
    await vi.advanceTimersByTimeAsync(limitMs - 1)
    expect(calls).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    expect([await outcome, calls]).toEqual(['late', 1])
    work.resolve(7)
    expect(await work.promise).toBe(7)
  })

  it('fails without a caller, and nothing is unhandled', async () => {
    const work = Promise.withResolvers<number>()
    waitAtMost(work.promise, limitMs, late)
    await vi.advanceTimersByTimeAsync(limitMs)
    work.reject(new Error('at last'))
    await expect(work.promise).rejects.toThrow('at last')
  })

  it('counts from the start of the work: who comes later gets the error at once, and the next work has its own time', async () => {
    const runs: PromiseWithResolvers<number>[] = []
    const share = shareRun(() => {
      const run = Promise.withResolvers<number>()
      runs.push(run)
      return run.promise
    })
    const wait = waitAtMostFor(share, limitMs, late)
    const first = wait().catch((cause: Error) => cause.message)
    await vi.advanceTimersByTimeAsync(limitMs)
    expect(await first).toBe('late')
    await expect(wait()).rejects.toThrow('late')
    expect([runs.length, vi.getTimerCount()]).toEqual([1, 0])
    runs[0]!.resolve(1)
    await share()
    const second = wait()
    runs[1]!.resolve(2)
    expect(await second).toBe(2)
  })
})
