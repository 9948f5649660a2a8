/** Requests of a pull while the link may be used, and while it may not. */
import { expect, it } from 'vitest'
import { type Allowance, whileAllowed } from './allowed.ts'
import type { Answer } from './http-get.ts'

const answer = (...chunks: string[]): Answer => ({
  origin: 'https://registry.example',
  status: 200,
  headers: {},
  body: (async function* () {
    for (const each of chunks) yield Buffer.from(each)
  })(),
  discard: () => undefined,
})

function setUp() {
  let closed: ReturnType<Allowance['refusal']>
  let change = Promise.withResolvers<void>()
  const requests: string[] = []
  const waits: (readonly [number, string] | 'over')[] = []
  const chunks = ['a', 'b', 'c']
  let left = Number.POSITIVE_INFINITY
  const get = whileAllowed(
    async (url) => {
      requests.push(url)
      return answer(...chunks)
    },
    {
      allowance: { refusal: () => closed, changed: () => change.promise },
      expectTime: () => {
        if (left-- <= 0) throw new Error('no time left')
      },
      now: () => 1000,
      onWait: (ms, cause) => {
        waits.push([ms, (cause as Error).message])
        return () => waits.push('over')
      },
    },
  )
  return {
    ...{ get, requests, waits },
    close: (kind: string, until?: number) => {
      closed = { kind, reason: `it is ${kind}`, until }
    },
    open: () => {
      closed = undefined
    },
    /** Lets those that wait look again. */
    look: async () => {
      const before = change
      change = Promise.withResolvers()
      before.resolve()
      await new Promise(setImmediate)
    },
    limit: (times: number) => {
      left = times
    },
  }
}

const textOf = async ({ body }: Answer) => {
  let text = ''
  for await (const chunk of body) text += Buffer.from(chunk)
  return text
}

it('are sent at once while it may', async () => {
  const { get, waits } = setUp()
  expect(await textOf(await get('url', {}))).toBe('abc')
  expect(waits).toEqual([])
})

it('wait until it may, and the wait is shown once for each reason', async () => {
  const { get, close, open, look, requests, waits } = setUp()
  close('metered', 61_000)
  const answered = get('url', {})
  await look()
  close('metered', 62_000)
  await look()
  expect([requests, waits]).toEqual([[], [[60_000, 'it is metered']]])
  close('day', 500)
  await look()
  expect(waits.slice(1)).toEqual(['over', [0, 'it is day']])
  close('other')
  await look()
  expect(waits.slice(3)).toEqual(['over', [60_000, 'it is other']])
  open()
  await look()
  expect(await textOf(await answered)).toBe('abc')
  expect(waits.slice(5)).toEqual(['over'])
})

it('are cut when it may not any more, after what has arrived', async () => {
  const { get, close } = setUp()
  const { body } = await get('url', {})
  const got: string[] = []
  await expect(async () => {
    for await (const chunk of body) {
      got.push(String(Buffer.from(chunk)))
      if (got.length === 2) close('day')
    }
  }).rejects.toThrow('it is day')
  expect(got).toEqual(['a', 'b'])
})

it('fail when the pull has no time left', async () => {
  const { get, close, look, limit, requests, waits } = setUp()
  close('metered')
  limit(1)
  const answered = get('url', {})
  answered.catch(() => undefined)
  await look()
  await look()
  await expect(answered).rejects.toThrow('no time left')
  expect(requests).toEqual([])
  expect(waits.at(-1)).toBe('over')
})

it('never wait for a pull without an allowance', () => {
  const get = async () => answer()
  expect(whileAllowed(get, { allowance: undefined, expectTime: () => undefined, now: () => 0 })).toBe(get)
})
