/** The API behind the pages: who may call, what an answer does to the cookie, and what is read page by page. */
import { consoleMethods } from '@selvedge/protocol/console'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addConsoleApi } from './api.ts'
import type { ConsoleContext, Viewer } from './context.ts'

const clock = createFakeClock()
let app: FastifyInstance
let viewer: Viewer | undefined
let calls: { name: string; context: ConsoleContext }[]
let answer: (context: ConsoleContext) => unknown
let bodies: (string | undefined)[]
let opened: (() => Promise<boolean>)[]
let again: Viewer | undefined
let log: ReturnType<typeof createMemoryLog>

const viewerOf = (role: 'owner' | 'member', accountId = 'a') =>
  ({
    membership: { accountId, role },
    session: { authTime: clock.now(), companyId: '' },
  }) as unknown as Viewer

beforeEach(async () => {
  ;[calls, bodies, opened] = [[], [], []]
  answer = () => ({ done: true })
  viewer = viewerOf('member')
  again = viewer
  log = createMemoryLog()
  app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
  const handlers = Object.fromEntries(
    Object.keys(consoleMethods).map((name) => [
      name,
      async (_: object, _caller: unknown, context: ConsoleContext) => {
        calls.push({ name, context })
        return answer(context)
      },
    ]),
  )
  addConsoleApi(app, {
    ...{ clock, log, dpop: { nonce: () => 'nonce' } as never, handlers: handlers as never },
    trustedProxies: createAddressSet([]),
    callers: {
      async identify(_: object, __: object, body?: string) {
        bodies.push(body)
        return { jkt: 'key', viewer }
      },
      refuseForeign({ headers }: { headers: object }) {
        if ('x-foreign' in headers) throw new Error('foreign')
      },
      require: async () => viewer!,
      again: async () => again,
      cookie: (secret: string | undefined) => `cookie=${secret}`,
    } as never,
    audit: {
      async list(accountId: string, size: number, before: string | undefined) {
        const from = before === undefined ? 0 : Number(before) + 1
        const until = Math.min(from + size, 51)
        return Array.from({ length: until - from }, (_, at) => ({
          id: String(from + at),
          accountId,
          actor: '\u0085',
        }))
      },
    } as never,
    events: {
      open(
        _viewer: Viewer,
        _request: object,
        reply: { send: (text: string) => void },
        stillThere: () => Promise<boolean>,
      ) {
        opened.push(stillThere)
        void reply.send('events')
      },
    } as never,
  })
  await app.ready()
})
afterEach(() => app.close())

const call = (method: string, params: object = {}, more: object = { id: 1 }) =>
  app.inject({
    ...{ method: 'POST', url: '/console/api', remoteAddress: '192.0.2.7' },
    headers: { 'content-type': 'application/json', 'user-agent': 'x'.repeat(201) },
    payload: JSON.stringify({ jsonrpc: '2.0', method, params, ...more }),
  })

it('a method gets who calls, and from where', async () => {
  const response = await call('session.end')
  expect(response.headers['content-type']).toMatch(/^application\/json/)
  expect(response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { done: true } })
  expect(response.headers['set-cookie']).toBeUndefined()
  expect([response.statusCode, response.headers['retry-after']]).toEqual([200, undefined])
  const context = { viewer, jkt: 'key', address: '192.0.2.7', userAgent: 'x'.repeat(200) }
  expect(calls).toEqual([
    { name: 'session.end', context: { ...context, requestId: expect.stringMatching(/./) } },
  ])
  expect(bodies).toEqual([expect.stringContaining('"session.end"')])
})

it('a session that begins or ends changes the cookie', async () => {
  answer = (context) => {
    context.newSession = 'secret'
    return { done: true }
  }
  expect((await call('session.end')).headers['set-cookie']).toBe('cookie=secret')
  answer = (context) => {
    context.newSession = null
    return { done: true }
  }
  expect((await call('session.end')).headers['set-cookie']).toBe('cookie=undefined')
})

it('a method that has to wait is answered with 429', async () => {
  answer = (context) => {
    context.retryAfter = 7
    return { done: true }
  }
  expect(await call('session.end')).toMatchObject({ statusCode: 429, headers: { 'retry-after': '7' } })
})

it('what is for owners or people is checked before it runs', async () => {
  const reason = async (method: string, params: object = {}) =>
    (await call(method, params)).json().error.data.reason
  expect(await reason('account.revoke_all')).toBe('forbidden')
  viewer = undefined
  expect(await reason('session.list')).toBe('signed_out')
  expect(calls).toEqual([])
})

it('one call is answered at a time, and a failure is in the log with its method', async () => {
  const two = [
    { jsonrpc: '2.0', id: 1, method: 'session.end' },
    { jsonrpc: '2.0', id: 2, method: 'session.end' },
  ]
  const response = await app.inject({
    ...{ method: 'POST', url: '/console/api', headers: { 'content-type': 'application/json' } },
    payload: JSON.stringify(two),
  })
  expect(response.json()).toMatchObject({ error: { code: -32013 } })
  answer = () => {
    throw new Error('broken')
  }
  expect((await call('session.end')).json().error.data).toMatchObject({ errorId: expect.any(String) })
  expect(log.lines.join()).toMatch(/a method of the console failed.*session\.end/)
  answer = () => ({ done: true })
  const notification = await app.inject({
    ...{ method: 'POST', url: '/console/api', headers: { 'content-type': 'application/json' } },
    payload: JSON.stringify([{ jsonrpc: '2.0', method: 'session.end' }]),
  })
  expect(notification).toMatchObject({ statusCode: 204, body: '' })
})

it('a page gets a nonce first', async () => {
  const response = await app.inject({ method: 'GET', url: '/console/nonce' })
  expect(response).toMatchObject({ statusCode: 204, headers: { 'dpop-nonce': 'nonce' } })
  const foreign = await app.inject({ method: 'GET', url: '/console/nonce', headers: { 'x-foreign': '1' } })
  expect([foreign.statusCode, foreign.headers['dpop-nonce']]).toEqual([500, undefined])
})

it('events end with the session, or with its account', async () => {
  await app.inject({ method: 'GET', url: '/console/events' })
  expect(await opened[0]!()).toBe(true)
  again = viewerOf('member', 'b')
  expect(await opened[0]!()).toBe(false)
  again = undefined
  expect(await opened[0]!()).toBe(false)
})

it('the audit log is a line for each entry, without controls', async () => {
  const response = await app.inject({ method: 'GET', url: '/console/audit.jsonl' })
  expect(response.headers).toMatchObject({
    'content-type': 'application/jsonl; charset=utf-8',
    'content-disposition': 'attachment; filename="selvedge-audit.jsonl"',
  })
  const lines = response.body.trimEnd().split('\n')
  expect(lines[0]).toBe('{"id":"0","accountId":"a","actor":"\\u0085"}')
  expect(lines.map((line) => JSON.parse(line).id)).toEqual(Array.from({ length: 51 }, (_, at) => String(at)))
})
