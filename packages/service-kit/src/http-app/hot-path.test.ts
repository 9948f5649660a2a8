/** One endpoint below the router: what it reads, what it refuses, and which headers its answers have. */
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OAuthError } from '@selvedge/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { createAddressSet } from '../addresses/address-set.ts'
import { createMemoryLog } from '../testing/index.ts'
import { followWorkload } from '../work/workload.ts'
import { formType, type HotPath, type HotRequest, jsonType } from './hot-path.ts'
import { createHttpApp } from './http-app.ts'

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end()
})

interface Sent {
  readonly body?: string | Buffer
  readonly headers?: Record<string, string | readonly string[]>
  readonly method?: string
  readonly path?: string
}

/** An app with a hot path, and what the path received. */
async function serve(more: Partial<HotPath> = {}, maxBody = 100) {
  const received: HotRequest[] = []
  const log = createMemoryLog()
  const app = createHttpApp(log, maxBody, {
    vital: [],
    hotPath: {
      path: '/token',
      takes: 'form',
      trustedProxies: createAddressSet([]),
      async answer(read) {
        received.push(read)
        return { ok: true }
      },
      ...more,
    },
  })
  app.get('/token', () => ({ isRouted: true }))
  app.get('/other', () => ({ isRouted: true }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  ending.push(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const send = ({ body = 'a=b', headers = {}, method = 'POST', path = '/token' }: Sent = {}) =>
    new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; json: Record<string, unknown> }>(
      (resolve, reject) => {
        const sent = request(
          {
            ...{ port, host: '127.0.0.1', method, path, agent: false },
            headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
          },
          async (answer) => {
            let text = ''
            for await (const part of answer) text += part
            resolve({ status: answer.statusCode!, headers: answer.headers, json: JSON.parse(text) })
          },
        )
        sent.on('error', reject)
        sent.end(method === 'GET' ? undefined : body)
      },
    )
  return { send, received, log }
}

describe('a request', () => {
  it('is read with its headers, and answered as JSON', async () => {
    const { send, received } = await serve()
    const headers = { authorization: 'Bearer t', dpop: 'proof', origin: 'https://app.example' }
    const answer = await send({ body: 'a=ü', headers })
    expect([answer.status, answer.json]).toEqual([200, { ok: true }])
    expect(received).toEqual([
      {
        ...{ body: 'a=ü', authorization: 'Bearer t', dpop: 'proof', origin: 'https://app.example' },
        ...{ address: '127.0.0.1', headers: {} },
      },
    ])
  })

  it('without these headers is read as well', async () => {
    const { send, received } = await serve()
    await send({})
    expect(received).toMatchObject([{ authorization: undefined, dpop: undefined, origin: undefined }])
  })

  it.each([[{ method: 'GET' }], [{ method: 'GET', path: '/other' }]])(
    'of another method or path is for the router: %j',
    async (sent) => {
      const { send, received } = await serve()
      expect((await send(sent)).json).toEqual({ isRouted: true })
      expect(received).toEqual([])
    },
  )

  it('with a query is not for it', async () => {
    const { send, received } = await serve()
    expect((await send({ path: '/token?a' })).status).toBe(404)
    expect(received).toEqual([])
  })

  it.each([
    ['text/plain', 415],
    ['application/json', 415],
    ['application/x-www-form-urlencoded; charset=latin1', 415],
    ['application/x-www-form-urlencoded; charset=utf-8', 200],
  ])('of the type %s has status %i', async (type, status) => {
    const { send } = await serve()
    const answer = await send({ headers: { 'Content-Type': type } })
    expect(answer.status).toBe(status)
    if (status === 415)
      expect(answer.json).toEqual({
        error: 'invalid_request',
        error_description: `the content type is "${type}"; send application/x-www-form-urlencoded in UTF-8`,
      })
  })

  it('for JSON has another type', async () => {
    const { send } = await serve({ takes: 'json' })
    expect((await send()).status).toBe(415)
    expect((await send({ headers: { 'Content-Type': 'application/json' } })).status).toBe(200)
  })

  it('without a type, or with a very long one, is refused and shown in part', async () => {
    const { send } = await serve()
    const { json } = await send({ headers: { 'Content-Type': 'x'.repeat(300) } })
    expect(json.error_description).toContain(`"${'x'.repeat(200)}"`)
    expect((await send({ headers: { 'Content-Type': '' } })).status).toBe(415)
  })

  it('that is too large, or no UTF-8, is refused', async () => {
    const { send, received } = await serve()
    expect((await send({ body: 'x'.repeat(100) })).status).toBe(200)
    expect(await send({ body: 'x'.repeat(101) })).toMatchObject({
      status: 413,
      json: { error_description: 'the body is larger than 100 bytes; send a smaller one' },
    })
    expect(await send({ body: Buffer.of(0x61, 0xff) })).toMatchObject({
      status: 400,
      json: { error: 'invalid_request', error_description: 'the body is not valid UTF-8' },
    })
    expect(received).toHaveLength(1)
  })

  it('of a trusted proxy has the address that the proxy names', async () => {
    const { send, received } = await serve({ trustedProxies: createAddressSet(['127.0.0.1']) })
    await send({ headers: { 'X-Forwarded-For': '192.0.2.7' } })
    expect(received[0]?.address).toBe('192.0.2.7')
  })
})

it('beyond the limit of requests that are answered at once, others are refused as busy', async () => {
  const workload = followWorkload()
  ending.push(() => workload.stop())
  const finish: (() => void)[] = []
  const { send } = await serve({ answer: () => new Promise((resolve) => finish.push(() => resolve({}))) })
  const answers: Promise<unknown>[] = []
  const statuses: number[] = []
  for (let count = 0; count < 1100; count++)
    answers.push(send().then(({ status }) => void statuses.push(status)))
  await expect.poll(() => finish.length + statuses.length).toBe(1100)
  expect(workload.counts()).toMatchObject({ requests: finish.length })
  expect(new Set(statuses)).toEqual(new Set([503]))
  for (const end of finish) end()
  await Promise.all(answers)
  expect(workload.counts()).toEqual({ requests: 0 })
})

describe('an answer', () => {
  const refuse = (code: 'invalid_grant' | 'use_dpop_nonce') => async (read: HotRequest) => {
    read.headers['Access-Control-Allow-Origin'] = '*'
    throw new OAuthError(code, 'no')
  }

  it('has the headers that the endpoint adds, good or bad', async () => {
    const good = await serve({
      async answer(read) {
        read.headers['X-More'] = 'a'
        return {}
      },
    })
    expect((await good.send()).headers['x-more']).toBe('a')
    const bad = await serve({ answer: refuse('invalid_grant') })
    const answer = await bad.send()
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_grant', error_description: 'no' } })
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  })

  it('has the next nonce for callers that send proofs, and for those that need one', async () => {
    const nonce = () => 'n1'
    const nonceOf = async (more: Partial<HotPath>, dpop?: string) => {
      const { send } = await serve(more)
      return (await send(dpop === undefined ? {} : { headers: { dpop } })).headers['dpop-nonce']
    }
    expect(await nonceOf({ nonce }, 'p')).toBe('n1')
    expect(await nonceOf({ nonce })).toBeUndefined()
    expect(await nonceOf({}, 'p')).toBeUndefined()
    expect(await nonceOf({ nonce, answer: refuse('invalid_grant') }, 'p')).toBe('n1')
    expect(await nonceOf({ nonce, answer: refuse('invalid_grant') })).toBeUndefined()
    expect(await nonceOf({ nonce, answer: refuse('use_dpop_nonce') })).toBe('n1')
    expect(await nonceOf({ answer: refuse('use_dpop_nonce') }, 'p')).toBeUndefined()
  })

  it('to a failure has no cause, which is in the log with the path', async () => {
    const { send, log } = await serve({ answer: () => Promise.reject(new Error('secret')) })
    const { status, json } = await send()
    expect([status, json.error]).toEqual([500, 'server_error'])
    expect(JSON.stringify(json)).not.toContain('secret')
    expect(JSON.parse(log.lines[0]!)).toMatchObject({ path: '/token' })
  })
})

it.each([
  ['application/json', true, false],
  ['APPLICATION/JSON; charset=UTF-8', true, false],
  ['application/json ; charset="utf-8" ', true, false],
  ['application/json; charset=latin1', false, false],
  ['application/jsonx', false, false],
  ['x-application/json', false, false],
  ['application/x-www-form-urlencoded', false, true],
  ['application/x-www-form-urlencoded;charset=utf-8', false, true],
  ['application/x-www-form-urlencoded; charset=utf-8; x', false, false],
  ['application/x-www-form-urlencoded \t;  charset="utf-8" \t', false, true],
  ['x-application/x-www-form-urlencoded', false, false],
  ['application/x-www-form-urlencodedx', false, false],
  ['application/x-www-form-urlencoded;xcharset=utf-8', false, false],
  ['application/x-www-form-urlencoded;charset=utf-8x', false, false],
  ['application/json;  charset=utf-8', true, false],
  ['', false, false],
])('%j is JSON in UTF-8: %s, a form: %s', (type, isJson, isForm) => {
  expect([jsonType.test(type), formType.test(type)]).toEqual([isJson, isForm])
})
