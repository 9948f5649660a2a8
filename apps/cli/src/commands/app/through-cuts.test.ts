import { ConnectionFailure } from '@selvedge/client'
import { expect, it } from 'vitest'
import { throughCuts } from './through-cuts.ts'

const failure = (code: string) =>
  new ConnectionFailure('not_running', code, { cause: Object.assign(new Error('x'), { code }) })

/** Calls that fail in this order, each after some seconds; then one succeeds. */
async function run(failures: readonly (Error & { seconds?: number })[]) {
  let [calls, time] = [0, 0]
  const waits: number[] = []
  const result = await throughCuts(
    async () => {
      const found = failures[calls++]
      time += (found?.seconds ?? 0) * 1000
      if (found) throw found
      return 'deployed'
    },
    {
      now: () => time,
      wait: async (ms) => {
        waits.push(ms)
        time += ms
      },
    },
  ).catch((cause: Error) => cause.message)
  return { result, calls, waits }
}

it('makes the call again after a cut, and while the runtime starts again', async () => {
  expect(await run([failure('ECONNRESET'), failure('ECONNREFUSED'), failure('ENOENT')])).toEqual({
    result: 'deployed',
    calls: 4,
    waits: [1000, 2000, 4000],
  })
})

it('fails at once if nothing answered from the first call on', async () => {
  expect(await run([failure('ECONNREFUSED')])).toMatchObject({ result: 'ECONNREFUSED', calls: 1 })
})

it('fails with what a runtime refuses, and with every other failure', async () => {
  const refused = new ConnectionFailure('refused', 'HTTP 403')
  expect(await run([failure('EPIPE'), refused])).toMatchObject({ result: 'HTTP 403', calls: 2 })
  expect(await run([new ConnectionFailure('timeout', 'late')])).toMatchObject({ result: 'late', calls: 1 })
})

it('fails when nothing has answered for a minute', async () => {
  const { result, waits } = await run(Array.from({ length: 50 }, () => failure('ECONNRESET')))
  expect(result).toBe('ECONNRESET')
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(60_000)
  expect(waits.length).toBeLessThan(20)
})

it('continues as often as connections are cut that were there for a time', async () => {
  const long = () => Object.assign(failure('ECONNRESET'), { seconds: 30 })
  expect((await run(Array.from({ length: 20 }, long))).result).toBe('deployed')
})
