import { describe, expect, it } from 'vitest'
import { shareResult, shareRun } from './share.ts'

/** Work that counts its runs and ends as the test decides. */
function startable() {
  const runs: PromiseWithResolvers<number>[] = []
  return {
    runs,
    work: () => {
      const run = Promise.withResolvers<number>()
      runs.push(run)
      return run.promise
    },
  }
}

describe.each([
  ['a shared result', shareResult],
  ['a shared run', shareRun],
])('%s', (_, share) => {
  it('starts once for all calls that come meanwhile', async () => {
    const { runs, work } = startable()
    const shared = share(work)
    const calls = [shared(), shared()]
    runs[0]!.resolve(1)
    expect(await Promise.all(calls)).toEqual([1, 1])
    expect(runs).toHaveLength(1)
  })

  it('starts again after a failure', async () => {
    const { runs, work } = startable()
    const shared = share(work)
    const first = shared()
    runs[0]!.reject(new Error('full'))
    await expect(first).rejects.toThrow('full')
    expect(shared.present()).toBeUndefined()
    const second = shared()
    runs[1]!.resolve(2)
    expect(await second).toBe(2)
  })

  it('starts again after work that threw at once', async () => {
    let isFull = true
    const shared = share(() => {
      if (isFull) throw new Error('full')
      return Promise.resolve(1)
    })
    await expect(shared()).rejects.toThrow('full')
    isFull = false
    expect(await shared()).toBe(1)
  })

  it('is not dropped by the failure of work that was forgotten', async () => {
    const { runs, work } = startable()
    const shared = share(work)
    const former = shared()
    shared.forget()
    const present = shared()
    runs[0]!.reject(new Error('former'))
    await expect(former).rejects.toThrow('former')
    expect(shared.present()).toBe(present)
    runs[1]!.resolve(2)
    expect(await present).toBe(2)
  })
})

it('a shared result is stored, a shared run ends with its work', async () => {
  const result = startable()
  const stored = shareResult(result.work)
  const run = startable()
  const passing = shareRun(run.work)
  for (const [shared, { runs }] of [[stored, result] as const, [passing, run] as const]) {
    const first = shared()
    runs[0]!.resolve(1)
    await first
  }
  expect(await stored()).toBe(1)
  expect(result.runs).toHaveLength(1)
  expect(passing.present()).toBeUndefined()
})
