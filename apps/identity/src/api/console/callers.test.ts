/** Who sends a request to the console: the cookie counts with the key of its browser only. */
import { OAuthError } from '@selvedge/protocol'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ConsoleStore, openConsoleStore } from '../../../../../tests/harness/console-calls.ts'
import { type Callers, createCallers } from './callers.ts'

const plain = 'selvedge_session'
let opened: ConsoleStore
let app: FastifyInstance
let callers: Callers
let secret: string
/** What the proofs of requests covered. */
let proofs: object[]
let site: string

beforeEach(async () => {
  opened = await openConsoleStore()
  proofs = []
  site = 'http://localhost:8084'
  callers = makeCallers()
  secret = (await opened.sessions.create({
    ...{ personId: 'ada', accountId: 'a', method: 'password', address: '', userAgent: '', jkt: 'key' },
  }))!
  app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
  app.setErrorHandler((cause: OAuthError, _, reply) =>
    reply.code(cause.status ?? 400).send({ error: cause.code ?? String(cause), description: cause.message }),
  )
  app.post('/api', async (request, reply) => {
    const { jkt, viewer } = await callers.identify(request, reply, request.body as string)
    return { jkt, personId: viewer?.person.personId, accountId: viewer?.membership.accountId }
  })
  app.get('/page', async (request, reply) => (await callers.require(request, reply)).person)
})
afterEach(async () => {
  await app.close()
  await opened.close()
})

const makeCallers = () =>
  createCallers({
    ...opened,
    site: () => new URL(site),
    trustedProxies: createAddressSet(['127.0.0.1/32']),
    dpop: {
      nonce: () => 'next',
      async verify(proof: string, about: object) {
        proofs.push(about)
        if (proof === 'stale') throw new OAuthError('use_dpop_nonce', 'no')
        if (proof === 'broken') throw new Error('broken')
        if (proof === 'bad') throw new OAuthError('invalid_dpop_proof', 'no')
        if (proof === 'busy') throw new OAuthError('temporarily_unavailable', 'no')
        return { jkt: proof }
      },
    } as never,
  })

async function send(
  dpop: string,
  {
    cookie = `${plain}=${secret}`,
    headers = {},
    url = '/api',
  }: { cookie?: string; headers?: object; url?: string } = {},
) {
  const response = await app.inject({
    ...{ method: url === '/api' ? ('POST' as const) : ('GET' as const), url: `${url}?a=b` },
    headers: {
      ...{ host: 'localhost:8084', 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      ...{ dpop, cookie, 'x-forwarded-for': '192.0.2.1', ...headers },
    },
    ...(url === '/api' && { payload: '{}' }),
  })
  return { status: response.statusCode, nonce: response.headers['dpop-nonce'], json: response.json() }
}

it('a proof of the key of the session shows its person', async () => {
  expect(await send('key')).toEqual({
    ...{ status: 200, nonce: 'next', json: { jkt: 'key', personId: 'ada', accountId: 'a' } },
  })
  expect(proofs).toEqual([{ htm: 'POST', htu: 'http://localhost:8084/api', body: '{}' }])
  expect((await send('key', { url: '/page' })).json).toMatchObject({ personId: 'ada' })
})

it('the cookie without the key shows no person, and is recorded, for some time', async () => {
  expect((await send('other')).json).toEqual({ jkt: 'other' })
  expect(await send('bad')).toMatchObject({ status: 401, json: { error: 'invalid_dpop_proof' } })
  const entry = expect.stringMatching(
    /^ada session\.use [\w-]+ refused its cookie came without a proof of its key$/,
  )
  expect(opened.audited()).toEqual([entry, entry])
  for (let time = 0; time < 9; time++) await send('other')
  expect(opened.audited()).toHaveLength(5)
})

it('an entry about a person who was removed names no person', async () => {
  const people = { ...opened.people, byId: async () => undefined }
  opened = { ...opened, people }
  callers = makeCallers()
  await send('other')
  expect(opened.audited()[0]).toMatch(/^session\.use /)
})

it('a page with an old nonce repeats its request, and nothing is recorded', async () => {
  expect(await send('stale')).toMatchObject({ status: 401, nonce: 'next', json: { error: 'use_dpop_nonce' } })
  expect(opened.audited()).toEqual([])
})

it('other failures are not those of a proof', async () => {
  expect((await send('busy')).status).toBe(new OAuthError('temporarily_unavailable', '').status)
  expect((await send('broken')).json.description).toBe('broken')
})

it('a visitor without a session may call, and may not see what needs one', async () => {
  expect((await send('key', { cookie: '' })).json).toEqual({ jkt: 'key' })
  expect((await send('key', { cookie: '', url: '/page' })).json).toMatchObject({ error: 'invalid_token' })
})

it('a cookie of another web server does not shadow the one of the session', async () => {
  const cookie = `${plain}=${'x'.repeat(43)}; ${plain}=${secret}`
  expect((await send('key', { cookie })).json).toMatchObject({ personId: 'ada' })
  const bob = await opened.sessions.create({
    ...{ personId: 'bob', accountId: 'a', method: 'password', address: '', userAgent: '', jkt: 'other' },
  })
  expect((await send('key', { cookie: `${plain}=${bob}; ${cookie}` })).json).toMatchObject({
    personId: 'ada',
  })
})

it.each([
  ['a foreign page', { origin: 'https://eve.example', 'sec-fetch-site': 'cross-site' }],
  ['a foreign host name', { host: 'eve.example:8084' }],
])('%s is refused before its proof is read', async (_, headers) => {
  expect((await send('key', { headers })).json).toMatchObject({ error: 'access_denied' })
  expect(proofs).toEqual([])
})

describe('the account', () => {
  it('is the oldest of the person if that of the session is not reached any more', async () => {
    await opened.join('b', 'ada')
    await opened.run("DELETE FROM members WHERE account_id = 'a' AND person_id = 'ada'")
    expect((await send('key')).json).toEqual({ jkt: 'key', personId: 'ada', accountId: 'b' })
    await opened.run("DELETE FROM members WHERE person_id = 'ada'")
    expect((await send('key')).json).toEqual({ jkt: 'key' })
  })
})

it('a session is found again until it was signed out', async () => {
  const viewer = await opened.viewerOf('ada')
  expect(await callers.again(viewer)).toMatchObject({ person: { personId: 'ada' } })
  await opened.sessions.end('ada', viewer.session.sessionId)
  expect(await callers.again(viewer)).toBeUndefined()
})

it.each([
  ['https://console.example', 443, '__Host-selvedge'],
  ['https://console.example:444', 444, '__Host-selvedge'],
  ['http://console.example', 80, 'selvedge_session'],
])('a console at %s has the port %i', async (url, port, name) => {
  site = url
  callers = makeCallers()
  expect(callers.cookie('s')).toMatch(new RegExp(`^${name}=s; `))
  expect(callers.cookie(undefined)).toMatch(/=; .*Max-Age=0$/)
  const check = (host: string) =>
    callers.refuseForeign({
      raw: { headers: { host }, rawHeaders: ['Host', host] },
    } as unknown as FastifyRequest)
  expect(() => check(`console.example:${port}`)).not.toThrow()
  expect(() => check('console.example:8084')).toThrow()
})
