import { afterEach, describe, expect, it, vi } from 'vitest'
import { ConnectionFailure } from './errors.ts'
import { type Fetch, send } from './send.ts'

type Init = Parameters<Fetch>[1]
const url = 'https://id.example'
const answer = (status: number, text: string, headers: Record<string, string> = {}) => ({
  status,
  headers: { get: (name: string) => headers[name] ?? null },
  text: async () => text,
})
const busy = (seconds: string) => answer(503, '{"error":"busy"}', { 'retry-after': seconds })

/** Sends a request to a service with these answers. */
async function sendTo(
  answers: readonly unknown[],
  request: object = {},
  options: object = {},
  more: object = {},
) {
  const asked: { url: string; init: Init }[] = []
  const left = [...answers]
  const fetch: Fetch = async (url, init) => {
    asked.push({ url, init })
    const next = left.shift()
    if (next instanceof Error) throw next
    return next as never
  }
  const reply = await send(
    { url, fetch, ...more },
    { method: 'POST', path: '/token', ...request },
    options,
  ).catch((cause) => cause as ConnectionFailure)
  return { reply, asked }
}
const problem = async (answers: readonly unknown[], options: object = {}) => {
  const { reply } = await sendTo(answers, {}, options)
  expect(reply).toBeInstanceOf(ConnectionFailure)
  const { reason, message, cause } = reply as ConnectionFailure
  expect(cause).toBeDefined()
  return `${reason}: ${message}`
}

afterEach(() => void vi.useRealTimers())

describe('a request', () => {
  it('has its method, path, headers and body, follows no redirect, and can be cancelled', async () => {
    const headers = { a: 'b' }
    const { asked, reply } = await sendTo([answer(200, '{"x":1}', { y: 'z' })], { headers, body: 'c' })
    expect(asked[0]).toMatchObject({
      url: `${url}/token`,
      init: { method: 'POST', headers, body: 'c', redirect: 'error' },
    })
    expect(asked[0]!.init.signal).toBeInstanceOf(AbortSignal)
    expect(reply).toMatchObject({ status: 200, json: { x: 1 }, text: '{"x":1}' })
    expect((reply as { header(name: string): unknown }).header('y')).toBe('z')
  })

  it('without a body has no body, and its headers are made for each attempt', async () => {
    vi.useFakeTimers()
    let made = 0
    const sent = sendTo([busy('1'), answer(204, '')], { headers: async () => ({ n: `${++made}` }) })
    await vi.runAllTimersAsync()
    const { asked } = await sent
    expect(asked.map(({ init }) => init.headers)).toEqual([{ n: '1' }, { n: '2' }])
    expect(asked[0]!.init).not.toHaveProperty('body')
  })
})

describe('an answer', () => {
  it('may be empty, or a token', async () => {
    expect((await sendTo([answer(204, '')])).reply).toMatchObject({ json: undefined, text: '' })
    const token = answer(200, 'a.b.c', { 'content-type': 'application/jwt' })
    expect((await sendTo([token])).reply).toMatchObject({ json: undefined, text: 'a.b.c' })
  })

  it('that is no JSON is refused', async () => {
    expect(await problem([answer(502, '<html>')])).toBe(
      'bad_answer: https://id.example/token answered 502 with something that is not JSON',
    )
  })

  it('of more than 16 MiB is refused', async () => {
    const body = () => new Blob([new Uint8Array(16 * 1024 * 1024 + 1)]).stream()
    expect(await problem([{ ...answer(200, ''), body: body() }])).toBe(
      'bad_answer: https://id.example/token: the answer is larger than 16777216 bytes',
    )
  })

  it.each([
    [new Error('plain'), 'plain'],
    [
      new Error('fetch failed', { cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }) }),
      'ECONNREFUSED',
    ],
    [new Error('fetch failed', { cause: new Error('inner') }), 'inner'],
    [new Error('fetch failed', { cause: 'text' }), 'fetch failed'],
  ])('that does not come has a reason: %s', async (cause, reason) => {
    expect(await problem([cause])).toBe(`not_running: nothing answers at https://id.example: ${reason}`)
  })

  it('that the caller did not wait for was cancelled', async () => {
    const signal = AbortSignal.abort()
    expect(await problem([new Error('x')], { signal })).toBe(
      'aborted: the call to https://id.example/token was cancelled',
    )
  })

  it('that came too late is named with the limit', async () => {
    const fetch: Fetch = (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    await expect(send({ url, fetch, timeoutMs: 5 }, { method: 'GET', path: '/x' })).rejects.toMatchObject({
      reason: 'timeout',
      message: 'https://id.example/x did not answer within 5 ms',
    })
    const cancelled = new AbortController()
    const call = send({ url, fetch }, { method: 'GET', path: '/x' }, { signal: cancelled.signal })
    cancelled.abort()
    await expect(call).rejects.toMatchObject({ reason: 'aborted' })
  })
})

describe('a busy service', () => {
  async function run(answers: readonly unknown[], more: object = {}) {
    vi.useFakeTimers()
    const sent = sendTo(answers, {}, {}, more)
    await vi.runAllTimersAsync()
    const { reply, asked } = await sent
    return { status: (reply as { status: number }).status, count: asked.length }
  }

  it('is asked up to three times', async () => {
    expect(await run([busy('1'), answer(200, '')])).toEqual({ status: 200, count: 2 })
    expect(await run([busy('1'), busy('1'), busy('1'), busy('1')])).toEqual({ status: 503, count: 3 })
  })

  it('is not asked again if it is to be left alone for long, or does not say for how long', async () => {
    expect(await run([busy('5'), answer(200, '')], { timeoutMs: 60_000 })).toEqual({ status: 200, count: 2 })
    expect(await run([busy('6'), answer(200, '')], { timeoutMs: 60_000 })).toEqual({ status: 503, count: 1 })
    expect(await run([answer(503, ''), answer(200, '')])).toEqual({ status: 503, count: 1 })
    expect(await run([busy('soon'), answer(200, '')])).toEqual({ status: 503, count: 1 })
  })

  it('is not asked again after the time of the call', async () => {
    expect(await run([busy('3'), answer(200, '')], { timeoutMs: 3000 })).toEqual({ status: 503, count: 1 })
  })

  it('is left alone for the time and up to as much again', async () => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const asked: number[] = []
    const start = performance.now()
    const fetch: Fetch = async () => {
      asked.push(Math.round(performance.now() - start))
      return busy('2') as never
    }
    const sent = send({ url, fetch, timeoutMs: 60_000 }, { method: 'GET', path: '/' })
    await vi.runAllTimersAsync()
    await sent
    expect(asked).toEqual([0, 3000, 6000])
    vi.restoreAllMocks()
  })

  it('is only one with the status 503', async () => {
    expect(await run([answer(429, '', { 'retry-after': '1' }), answer(200, '')])).toEqual({
      status: 429,
      count: 1,
    })
  })
})
