import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRetry } from './retry.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Milliseconds that a check needs while packets are dropped. */
const checkMs = 4000

/** A device with work that needs the network. @param isRefusing whether the service refuses while it can be reached */
function startDevice(network: { isThere: boolean; isRefusing?: boolean; answersAtOnce?: boolean }) {
  const checks: number[] = []
  const attempts: number[] = []
  let doneAt: number | undefined
  const answer = async () => {
    if (!network.isThere && !network.answersAtOnce)
      await new Promise((resolve) => setTimeout(resolve, checkMs))
    return network.isThere
  }
  const retry = createRetry(
    'test.work',
    async () => {
      attempts.push(Date.now())
      const isDone = (await answer()) && !network.isRefusing
      if (isDone) doneAt = Date.now()
      return isDone
    },
    {
      async reaches() {
        checks.push(Date.now())
        return answer()
      },
    },
  )
  retry.wake()
  return { retry, checks, attempts, doneAt: () => doneAt }
}

describe('after an outage', () => {
  it.each([5, 60, 600, 86_400])('of %i s, the work is done within ten seconds', async (seconds) => {
    for (let run = 0; run < 20; run++) {
      const network = { isThere: false }
      const { retry, doneAt } = startDevice(network)
      await vi.advanceTimersByTimeAsync(seconds * 1000 + run * 317)
      expect(doneAt()).toBeUndefined()
      network.isThere = true
      const backAt = Date.now()
      await vi.advanceTimersByTimeAsync(20_000)
      expect(doneAt()! - backAt).toBeLessThanOrEqual(10_000)
      await retry.stop()
      if (seconds > 600) break
    }
  })

  it.each([
    ['packets were dropped', false],
    ['the service refused connections', true],
  ])('in which %s, 1,000 devices do not come back in one burst', async (_, answersAtOnce) => {
    const network = { isThere: false, answersAtOnce }
    const devices = Array.from({ length: 1000 }, () => startDevice(network))
    await vi.advanceTimersByTimeAsync(180_000)
    network.isThere = true
    const backAt = Date.now()
    await vi.advanceTimersByTimeAsync(20_000)
    const perTenth = new Map<number, number>()
    for (const { attempts } of devices)
      for (const at of attempts.filter((each) => each >= backAt)) {
        const tenth = Math.floor((at - backAt) / 100)
        perTenth.set(tenth, (perTenth.get(tenth) ?? 0) + 1)
      }
    expect(devices.every(({ doneAt }) => doneAt() !== undefined)).toBe(true)
    process.stdout.write(
      `most attempts in a tenth of a second: ${Math.max(...perTenth.values())}; the last after ${Math.max(...perTenth.keys()) / 10} s\n`,
    )
    // Evenly over four seconds, it would be 25.
    expect(Math.max(...perTenth.values())).toBeLessThan(75)
    await Promise.all(devices.map(({ retry }) => retry.stop()))
  })
})

it('a service that refuses the work, and can be reached, is checked once for each attempt', async () => {
  const { retry, checks, attempts } = startDevice({ isThere: true, isRefusing: true })
  await vi.advanceTimersByTimeAsync(3600_000)
  expect(checks.length).toBeLessThanOrEqual(attempts.length)
  expect(attempts.length).toBeLessThan(100)
  await retry.stop()
})

describe('work that lasts long', () => {
  /** Work with runs that the test ends, or that end when the services are there again. */
  function hold(network: { isThere: boolean }) {
    const runs: PromiseWithResolvers<boolean>[] = []
    let returns = 0
    let there = 0
    const retry = createRetry(
      'test.work',
      () => {
        const run = Promise.withResolvers<boolean>()
        runs.push(run)
        return run.promise
      },
      {
        reaches: async () => network.isThere,
        onReturn() {
          returns++
          runs.at(-1)!.resolve(false)
        },
        onThere: () => void there++,
      },
    )
    retry.wake()
    return { retry, runs, returns: () => returns, there: () => there }
  }

  it('because the services were away is given up when they are back, and begins again at once', async () => {
    const network = { isThere: false }
    const { retry, runs, returns } = hold(network)
    await vi.advanceTimersByTimeAsync(20_000)
    expect([runs.length, returns()]).toEqual([1, 0])
    network.isThere = true
    const backAt = Date.now()
    while (runs.length === 1) await vi.advanceTimersByTimeAsync(100)
    expect(Date.now() - backAt).toBeLessThanOrEqual(10_000)
    expect(returns()).toBe(1)
    runs.at(-1)!.resolve(true)
    await retry.stop()
  })

  it('of services that can be reached continues', async () => {
    const { retry, runs, returns, there } = hold({ isThere: true })
    await vi.advanceTimersByTimeAsync(30_000)
    expect([runs.length, returns(), there()]).toEqual([1, 0, 1])
    runs[0]!.resolve(true)
    await retry.stop()
  })

  it('is not touched between its attempts', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1)
    const { retry, runs, there } = hold({ isThere: true })
    for (let at = 0; at < 6; at++) {
      runs.at(-1)!.resolve(false)
      while (runs.length === at + 1) await vi.advanceTimersByTimeAsync(500)
    }
    expect(there()).toBe(0)
    runs.at(-1)!.resolve(true)
    await retry.stop()
    vi.restoreAllMocks()
  })
})

it('there are no checks after a success, nor after a stop', async () => {
  const network = { isThere: true }
  const { retry, checks } = startDevice(network)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(checks).toEqual([])
  network.isThere = false
  retry.wake()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(checks.length).toBeGreaterThan(2)
  const stopping = retry.stop()
  await vi.advanceTimersByTimeAsync(60_000)
  await stopping
  const before = checks.length
  await vi.advanceTimersByTimeAsync(60_000)
  expect(checks.length).toBe(before)
  expect(vi.getTimerCount()).toBe(0)
})
