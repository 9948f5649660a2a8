import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RpcError } from '@selvedge/protocol'
import { type CaughtFailure, caughtFailures } from '@selvedge/service-kit/safely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRest, type RestParts, type Routes } from './rest.ts'

type Handle = Routes['table'][string]['handle']
const as = { access: { caller: 'token', token: 'node' } } as Routes['table'][string]['as']

let server: Server
let url: string
let handle: Handle
let caught: CaughtFailure[]
let internal: unknown[]
/** Arguments with which callers were checked, and answers that are watched. */
let checked: unknown[][]
let watched: Parameters<RestParts['lasting']['watch']>[0][]
let parts: RestParts
const note = (failure: unknown) => void caught.push(failure as CaughtFailure)
beforeEach(async () => {
  caught = []
  internal = []
  checked = []
  watched = []
  caughtFailures.subscribe(note)
  parts = {
    async authorize(...args: unknown[]) {
      checked.push(args)
      return { account_id: 'a' }
    },
    expectStillValid: (...args: unknown[]) => void checked.push(args),
    lasting: {
      watch(answer: (typeof watched)[number]) {
        watched.push(answer)
        return () => void watched.pop()
      },
    },
    nonce: () => 'n',
    onInternalError: (cause: unknown) => {
      internal.push(cause)
      return 'error-1'
    },
  } as unknown as RestParts
  const rest = createRest(parts, [
    {
      prefix: '/v1',
      table: {
        'GET /v1/things/{id}': { as, handle: (call) => handle(call) },
        'POST /v1/things/{id}': { as, handle: (call) => handle(call) },
        'DELETE /v1/things': { as, readsQueryFirst: true, handle: (call) => handle(call) },
        'GET /v1/open': {
          as,
          query: { limit: { expected: 'a word', read: (text) => text || undefined } },
          ignoresUnknown: true,
          handle: (call) => handle(call),
          withoutToken: async (query) => ({ withoutToken: query }),
        },
      },
    },
  ])
  server = createServer((request, response) => {
    if (!rest(request, response)) response.end('not of this API')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/things`
})
afterEach(() => {
  caughtFailures.unsubscribe(note)
  server.close()
  server.closeAllConnections()
})

const ask = (id: string) => fetch(`${url}/${id}`, { headers: { Authorization: 'Bearer t', DPoP: 'p' } })

it.each(['%zz', '%', 'a%ff'])('refuses the id %s with invalid_params, and logs nothing', async (id) => {
  handle = async () => ({})
  const answer = await ask(id)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ error: { reason: 'invalid_params' } })
  expect(internal).toEqual([])
})

it('ends the connection when a handler fails after the head was sent, and serves the next request', async () => {
  handle = async ({ response }) => {
    response.writeHead(200).write('beginning')
    throw new Error('too late')
  }
  await expect(ask('a').then((answer) => answer.text())).rejects.toThrow()
  handle = async ({ id }) => ({ id })
  expect(await (await ask('a%2Fb')).json()).toEqual({ id: 'a/b' })
  expect(caught).toEqual([])
})

it('refuses query parameters that a route does not have, after the token was checked', async () => {
  handle = async () => ({})
  const answer = await ask('a?verbose=1')
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    error: { reason: 'invalid_params', message: expect.stringContaining('"verbose"') },
  })
  expect((await fetch(`${url}/a?verbose=1`)).status).toBe(401)
})

it('answers HEAD wherever it answers GET, with the same headers and no body', async () => {
  handle = async ({ id }) => ({ id })
  const headers = { Authorization: 'Bearer t' }
  const [get, head] = await Promise.all(
    ['GET', 'HEAD'].map((method) => fetch(`${url}/abc`, { method, headers })),
  )
  expect(head!.status).toBe(200)
  expect(head!.headers.get('content-length')).toBe(get!.headers.get('content-length'))
  expect(await head!.text()).toBe('')
  const put = await fetch(`${url}/abc`, { method: 'PUT', headers })
  expect(put.headers.get('allow')).toBe('GET, HEAD, POST')
})

describe('a route that answers without a token', () => {
  const openUrl = () => url.replace('things', 'open')

  it('does so for a request without Authorization only', async () => {
    handle = async () => ({ withToken: true })
    expect(await (await fetch(`${openUrl()}?limit=5&ping=true&ping=false`)).json()).toEqual({
      withoutToken: { limit: '5' },
    })
    const withToken = await fetch(openUrl(), { headers: { Authorization: 'Bearer t' } })
    expect(await withToken.json()).toEqual({ withToken: true })
    for (const Authorization of ['', 'Basic eDp5', 'Bearer', 't'])
      expect((await fetch(openUrl(), { headers: { Authorization } })).status, Authorization).toBe(401)
  })

  it('refuses values of its parameters that are not accepted', async () => {
    for (const query of ['limit=', 'limit=1&limit=2'])
      expect((await fetch(`${openUrl()}?${query}`)).status, query).toBe(400)
  })
})

it('checks the caller by the method of the route, with the proof of the request', async () => {
  handle = async ({ owner, query }) => ({ owner, query })
  expect(await (await ask('a')).json()).toEqual({ owner: { account_id: 'a' }, query: {} })
  const proven = expect.objectContaining({ dpop: 'p', method: 'GET', path: '/v1/things/a' })
  expect(checked).toEqual([['t', as.access, proven, 'GET /v1/things/{id}']])
  const missing = await fetch(`${url}/a`)
  expect([missing.status, missing.headers.get('connection')]).toEqual([401, 'close'])
  expect(await missing.json()).toMatchObject({
    error: { reason: 'token_missing', message: 'send "Authorization: Bearer <access token>"' },
  })
  expect(checked).toHaveLength(1)
})

it('a refusal has the next nonce for a caller that sent a proof, and for no other', async () => {
  handle = () => Promise.reject(new Error('broken'))
  const nonceOf = async (headers: Record<string, string>) => {
    const answer = await fetch(`${url}/a`, { headers: { Authorization: 'Bearer t', ...headers } })
    expect([answer.status, answer.headers.get('connection')]).toEqual([500, 'close'])
    return answer.headers.get('dpop-nonce')
  }
  expect([await nonceOf({ DPoP: 'p' }), await nonceOf({})]).toEqual(['n', null])
  expect(internal).toHaveLength(2)
})

it('a route that these callers may not use is refused before anything is read', async () => {
  handle = async () => ({})
  const refused = new RpcError('forbidden', 'not for services')
  parts = Object.assign(parts, {
    expectAllowed(method: unknown) {
      expect(method).toBe(as)
      throw refused
    },
  })
  const answer = await fetch(`${url}/a?x=1`)
  expect([answer.status, (await answer.json()).error.message]).toEqual([403, 'not for services'])
  expect(checked).toEqual([])
})

it('a route that reads its query first refuses it before the token', async () => {
  handle = async ({ id }) => ({ id })
  const send = (query: string, headers = {}) => fetch(url + query, { method: 'DELETE', headers })
  expect((await send('?x=1')).status).toBe(400)
  expect((await send('')).status).toBe(401)
  expect(await (await send('', { Authorization: 'Bearer t' })).json()).toEqual({ id: '' })
})

it('only whole paths of the API are answered', async () => {
  handle = async () => ({})
  const at = (path: string) => fetch(new URL(path, url), { headers: { Authorization: 'Bearer t' } })
  expect(await (await at('/v10/things/a')).text()).toBe('not of this API')
  expect(await (await at('/v1')).text()).toBe('not of this API')
  for (const path of ['/v1/things/a/b', '/v1/x/v1/things/a', '/v1/things/', `/v1/${'y'.repeat(500)}`]) {
    const answer = await at(path)
    const shown = JSON.stringify(path.slice(0, 200))
    expect([answer.status, (await answer.json()).error.message]).toEqual([
      404,
      `there is nothing at ${shown}`,
    ])
  }
  const broken = await (await at(`/v1/things/%${'y'.repeat(500)}`)).json()
  expect(broken.error.message).toBe(`the id "%${'y'.repeat(199)}" has a broken % escape`)
  const put = await fetch(`${url}/a`, { method: 'PUT' })
  expect([put.status, (await put.json()).error]).toMatchObject([
    405,
    { reason: 'method_not_allowed', message: 'send GET, HEAD, POST' },
  ])
})

it('an answer that lasts ends when its caller, or what else must hold, is not valid any more', async () => {
  const end = () => undefined
  handle = async ({ endWithCaller }) => {
    endWithCaller(end, () => {
      throw new Error('the container was removed')
    })
    return 'lasts'
  }
  await ask('a')
  expect(watched).toHaveLength(1)
  const [{ expectAllowed, verifyAgain, end: own }] = watched as [(typeof watched)[number]]
  expect(own).toBe(end)
  expect(expectAllowed).toThrow('the container was removed')
  expect(checked[1]).toEqual([{ account_id: 'a' }, as.access])
  await verifyAgain()
  expect(checked[2]).toEqual(checked[0])
})

it('a handler that has answered sends nothing more, and a failure that cannot be sent ends the connection', async () => {
  handle = async ({ response }) => {
    response.end('mine')
    return undefined
  }
  expect(await (await ask('a')).text()).toBe('mine')
  handle = () => Promise.reject(new Error('broken'))
  Object.assign(parts, {
    onInternalError() {
      throw new Error('the log is broken')
    },
  })
  await expect(ask('a')).rejects.toThrow()
  expect(caught).toMatchObject([{ where: 'rest.fail' }])
})
