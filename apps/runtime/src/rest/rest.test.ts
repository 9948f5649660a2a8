import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CaughtFailure, caughtFailures } from '@selvedge/service-kit/safely'
import { afterEach, beforeEach, expect, it } from 'vitest'
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
    { prefix: '/v1', table: { 'GET /v1/things/{id}': { as, handle: (call) => handle(call) } } },
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
