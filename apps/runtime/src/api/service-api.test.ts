import { once } from 'node:events'
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { methods, rpcPath } from '@selvedge/protocol'
import { createLoadShedder } from '@selvedge/service-kit/http'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { OpenServiceApi } from '../services/service-api.ts'
import { limits } from './limits.ts'
import type { Routes } from './rest/rest.ts'
import { createServiceApi } from './service-api.ts'

let servers: Server[]
beforeEach(() => {
  servers = []
})
afterEach(() => {
  for (const each of servers) {
    each.closeAllConnections()
    each.close()
  }
})

const routes: Routes = {
  prefix: '/v1',
  table: {
    'GET /v1/open': { as: methods.getNodes, handle: async () => 'x', withoutToken: async () => 'open' },
    'GET /v1/closed': { as: methods.deployImage, handle: async () => 'x', withoutToken: async () => 'open' },
  },
}
const openApi = (): OpenServiceApi =>
  createServiceApi({
    dispatcherFor: () => ({ dispatch: () => '"answered"', refuse: () => '"refused"' }),
    routesFor: () => [routes, { prefix: '/v2', table: {} }],
    rest: { nonce: () => '' } as never,
    neighbours: { open: (...asked: unknown[]) => asked } as never,
    shedder: createLoadShedder(),
    isMeasured: false,
  })

/** Serves one instance. @returns its URL */
async function serve(open: OpenServiceApi, settings: object = {}): Promise<string> {
  const api = open({ id: 'x', instance: 'one', settings: settings as never, countCall: () => undefined })
  const server = createServer((asked, response) => {
    if (api.owns(asked.url ?? '')) api.request(asked, response)
    else response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const json = { 'Content-Type': 'application/json' }

it('owns the path of JSON-RPC and what is below the prefixes of the routes', async () => {
  const { owns } = openApi()({ id: 'x', instance: 'one', settings: {} as never, countCall: () => undefined })
  for (const path of [rpcPath, `${rpcPath}/`, `${rpcPath}?x`, '/v1/', '/v1/open?x=1', '/v2/x'])
    expect(owns(path), path).toBe(true)
  for (const path of ['', '/', '/v1', '/v12', `${rpcPath}x`, `/x${rpcPath}`, '//v1/open'])
    expect(owns(path), path).toBe(false)
})

it('answers under the names of the loopback and its own, and to no page', async () => {
  const url = await serve(openApi())
  const statusOf = async (headers: Record<string, string>) => {
    const asked = request(`${url}/v1/open`, { headers }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  expect(await statusOf({ Host: 'runtime' })).toBe(200)
  expect(await statusOf({ Host: 'localhost:1234' })).toBe(200)
  expect(await statusOf({ Host: 'evil.example' })).toBe(403)
  expect(await statusOf({ Origin: 'http://runtime' })).toBe(403)
})

it('reads a call without a content type', async () => {
  const url = await serve(openApi())
  const asked = request(url + rpcPath, { method: 'POST' }).end('{}')
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.resume()
  expect(response.statusCode).toBe(200)
})

it('opens the nodes that the instance sends, with what proves the request', () => {
  const { openNodes } = openApi()({
    id: 'x',
    instance: 'one',
    settings: {} as never,
    countCall: () => undefined,
  })
  const headers = { host: 'runtime', dpop: 'proof' }
  const asked = { method: 'POST', url: '/v1/nodes/open?x', headers } as unknown as IncomingMessage
  expect(openNodes('body' as never, asked)).toMatchObject([
    'body',
    'one',
    { method: 'POST', dpop: 'proof', host: 'runtime' },
  ])
})

it('checks what a route declares before it answers without a token', async () => {
  const open = openApi()
  const [plain, manager] = [await serve(open), await serve(open, { 'MCM.MANAGE': true })]
  expect(await (await fetch(`${plain}/v1/open`)).json()).toBe('open')
  expect(await (await fetch(`${plain}/v1/closed`)).json()).toMatchObject({
    error: { code: 403, reason: 'service_not_allowed' },
  })
  expect(await (await fetch(`${manager}/v1/closed`)).json()).toBe('open')
})

it('has one memory of large bodies for all instances, which small bodies do not use', async () => {
  const open = openApi()
  const [one, other] = [await serve(open), await serve(open)]
  const body = ' '.repeat(100 * 1024)
  const waiting = new Set<ClientRequest>()
  // A machine that is busy refuses some of them, and a body that is answered has the place of one: others take it.
  const fill = () => {
    while (waiting.size < 80) {
      const headers = { ...json, 'Content-Length': limits.body }
      const large = request(one + rpcPath, { method: 'POST', headers })
      waiting.add(large)
      large.on('error', () => undefined)
      large.on('response', () => large.destroy())
      large.on('close', () => waiting.delete(large))
      large.write(body)
    }
  }
  const status = async (sent: string) =>
    (await fetch(other + rpcPath, { method: 'POST', headers: json, body: sent })).status
  await expect
    .poll(() => {
      fill()
      return status(body)
    })
    .toBe(503)
  expect(await status('{}')).toBe(200)
  for (const each of waiting) each.destroy()
  await expect.poll(() => status(body)).toBe(200)
})
