/** What an app does with each request, before and after its handler. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { afterEach, expect, it, vi } from 'vitest'
import { alwaysReady } from '../lifecycle/readiness.ts'
import { createLog } from '../log/index.ts'
import { createMemoryLog } from '../testing/index.ts'
import { addFormRoutes } from './form-routes.ts'
import { createHttpApp, type HttpAppOptions, listenApp } from './http-app.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  finish = undefined
  for (const close of closing.splice(0)) await close()
})

/** Ends the request to /late. */
let finish: (() => void) | undefined

async function start(options: Partial<HttpAppOptions> = {}) {
  const lines: string[] = []
  const log = createLog({ service: 'test', level: 'error', now: () => 0 }, (line) => lines.push(line))
  const app = createHttpApp(log, 1000, { vital: ['/vital'], ...options })
  app.post('/json', async ({ body }) => ({ body }))
  app.get('/json', async () => ({}))
  app.get('/vital', async () => ({}))
  app.get('/cached', async (_, reply) => reply.header('Cache-Control', 'max-age=60').send({}))
  app.get('/late', async () => {
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    return { done: true }
  })
  app.get('/broken', async () => {
    throw new Error('the reason')
  })
  addFormRoutes(app, (routes) => routes.post('/form', async ({ body }) => ({ form: body })))
  closing.push(() => app.close())
  let url = ''
  await listenApp(app, '127.0.0.1', 0, 'option "x"', (own) => {
    url = own
  })
  const send = async (path: string, headers: object = {}, body?: string) => {
    const request = httpRequest(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: headers as Record<string, string>,
      agent: false,
    })
    request.end(body)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return {
      status: response.statusCode,
      headers: response.headers,
      json: JSON.parse(await textOf(response)),
    }
  }
  return { app, send, lines, url }
}

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

it('bodies are text: JSON by default, and a form where a route is for forms', async () => {
  const { send } = await start()
  expect((await send('/json', json, '{"a": 1}')).json).toEqual({ body: '{"a": 1}' })
  expect((await send('/form', form, 'a=b')).json).toEqual({ form: 'a=b' })
  for (const [path, headers] of [
    ['/json', form],
    ['/json', { 'Content-Type': 'text/plain' }],
    ['/form', json],
    ['/form', { 'Content-Type': 'text/plain' }],
  ] as const)
    expect([path, (await send(path, headers, 'a')).status]).toEqual([path, 415])
  expect((await send('/json', json, 'x'.repeat(1000))).status).toBe(200)
  expect((await send('/json', json, 'x'.repeat(1001))).status).toBe(413)
})

it('an answer is not stored unless it allows that, is of its own type, and has the ID of its request', async () => {
  const { send } = await start()
  const { headers } = await send('/json')
  expect(headers).toMatchObject({
    ...{ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    'x-request-id': expect.stringMatching(/./),
  })
  expect((await send('/cached')).headers['cache-control']).toBe('max-age=60')
})

it('an unknown path is named without its query, and not in full length', async () => {
  const { send } = await start()
  const missing = (path: string) => ({
    status: 404,
    json: { error: 'invalid_request', error_description: `there is no GET ${path}` },
  })
  expect(await send('/missing?token=secret')).toMatchObject(missing('/missing'))
  expect(await send(`/${'x'.repeat(300)}`)).toMatchObject(missing(`/${'x'.repeat(199)}`))
})

it('a failure is an error of the service, with its path in the log and without its reason in the answer', async () => {
  const { send, lines } = await start()
  const { status, json } = await send('/broken?token=secret')
  expect([status, json.error]).toEqual([500, 'server_error'])
  expect(JSON.stringify(json)).not.toContain('the reason')
  expect(lines.join()).toContain('the reason')
  expect(lines.join()).toContain('/broken')
  expect(lines.join()).not.toContain('token=secret')
})

it('a request for another host is refused, and its connection ends', async () => {
  const { send } = await start({ acceptsHost: (host) => host === 'own.example' })
  expect((await send('/json', { Host: 'own.example' })).status).toBe(200)
  expect(await send('/json', { Host: 'evil.example' })).toMatchObject({
    ...{ status: 403, headers: { connection: 'close' } },
    json: { error: 'access_denied', error_description: expect.stringContaining('listen.hosts') },
  })
})

it('in an overload only vital paths are served', async () => {
  let refused = 0
  const { send } = await start({ shedder: { isBusy: () => true, wasRefused: () => void refused++ } })
  expect((await send('/vital?x')).status).toBe(200)
  expect(await send('/json')).toMatchObject({
    status: 503,
    json: { error: 'temporarily_unavailable', error_description: expect.stringContaining('more requests') },
  })
  expect(refused).toBe(1)
})

it('a path may be served below the router', async () => {
  const { send } = await start({
    hotPath: {
      ...{ path: '/hot', takes: 'form', trustedProxies: { includes: () => false } },
      answer: async ({ body }: { body: string }) => ({ hot: body }),
    } as never,
  })
  expect((await send('/hot', form, 'a=b')).json).toEqual({ hot: 'a=b' })
  expect((await send('/hot', form, 'x'.repeat(1001))).status).toBe(413)
  expect((await send('/json', json, '1')).json).toEqual({ body: '1' })
})

it('each connection closes after its answer while the daemon is about to stop', async () => {
  const { url } = await start({ readiness: { ...alwaysReady, isDraining: () => true } })
  expect((await fetch(`${url}/json`)).headers.get('connection')).toBe('close')
})

it('when an app closes, its streams end, and requests that were sent are answered', async () => {
  const { app, send, url } = await start()
  const ends: string[] = []
  app.eventStreams.add({ end: () => ends.push('stream') } as never)
  const client = connect(Number(new URL(url).port), '127.0.0.1')
  client.write(['/late', '/json'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  const answers = textOf(client)
  await expect.poll(() => finish).toBeDefined()
  const closed = app.close()
  await expect.poll(() => ends).toEqual(['stream'])
  finish!()
  await closed
  expect((await answers).match(/HTTP\/1.1 \d+|{.*}/g)).toEqual([
    ...['HTTP/1.1 200', '{"done":true}'],
    ...['HTTP/1.1 200', '{}'],
  ])
  await expect(send('/json')).rejects.toThrow(/ECONNREFUSED/)
})

it('no timers are left of an app that closes without having listened', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  closing.push(() => vi.useRealTimers())
  const app = createHttpApp(createMemoryLog(), 1000, { vital: [] })
  const before = vi.getTimerCount()
  await app.close()
  expect(vi.getTimerCount()).toBe(before)
})

it.each([
  [
    'a port that is in use',
    '127.0.0.1',
    /is in use by another program; stop it or choose another port with option "y"/,
    'EADDRINUSE',
  ],
  [
    'an address that the machine does not have',
    '192.0.2.1',
    /^can't listen on port \d+ of 192\.0\.2\.1: /,
    'EADDRNOTAVAIL',
  ],
])('%s is an error that names it', async (_, host, message, code) => {
  const { url } = await start()
  const other = createHttpApp(createMemoryLog(), 1000, { vital: [] })
  closing.push(() => other.close())
  await expect(
    listenApp(other, host, Number(new URL(url).port), 'option "y"', () => undefined),
  ).rejects.toMatchObject({ message: expect.stringMatching(message), cause: { code } })
})
