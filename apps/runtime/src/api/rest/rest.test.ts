import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CaughtFailure, caughtFailures } from '@selvedge/service-kit/safely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRest, type RestParts, type Routes } from './rest.ts'

type Handle = Routes['table'][string]['handle']

let server: Server
let url: string
let handle: Handle
let caught: CaughtFailure[]
let internal: unknown[]
const note = (failure: unknown) => void caught.push(failure as CaughtFailure)
beforeEach(async () => {
  caught = []
  internal = []
  caughtFailures.subscribe(note)
  const parts = {
    authorize: async () => ({}),
    nonce: () => 'n',
    onInternalError: (cause: unknown) => {
      internal.push(cause)
      return 'error-1'
    },
  } as unknown as RestParts
  const as = { access: { caller: 'token', token: 'node' } } as Routes['table'][string]['as']
  const rest = createRest(parts, [
    {
      prefix: '/v1',
      table: {
        'GET /v1/things/{id}': { as, handle: (call) => handle(call) },
        'POST /v1/things/{id}': { as, handle: (call) => handle(call) },
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
  server = createServer((request, response) => void rest(request, response)).listen(0, '127.0.0.1')
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
