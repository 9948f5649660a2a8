/** Requests to services of users: counted without their names, with the trace of the caller. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Services, startServices } from '../harness/services.ts'

const source = `export default { fetch(request) {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname.endsWith('/fail')) return new Response('no', { status: 503 })
  const headers = new Headers()
  for (const id of searchParams.getAll('id')) headers.append('X-Request-Id', id)
  return Response.json(Object.fromEntries(request.headers), { headers })
} }`
const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

let services: Services
let port: number
let path: string

const readMetrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
const seriesValue = async (series: string) =>
  Number(
    (await readMetrics())
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1] ?? 0,
  )

beforeAll(async () => {
  port = await freePort()
  services = await startServices({ args: [`--metrics.listen=127.0.0.1:${port}`] })
  const { clientId } = services.developer
  await services.deploy('private-name', source)
  path = `/${clientId}/private-name`
})
afterAll(() => services.stop())

describe('requests to a service', () => {
  it('are counted as "other" with the class of their status, and their times', async () => {
    const count = (code: string) => seriesValue(`selvedge_http_requests_total{route="other",code="${code}"}`)
    const before = [await count('2xx'), await count('5xx')]
    for (let at = 0; at < 3; at++) expect((await services.call(`${path}/x`)).status).toBe(200)
    expect((await services.call(`${path}/fail`)).status).toBe(503)
    await expect
      .poll(async () => [await count('2xx'), await count('5xx')])
      .toEqual([before[0]! + 3, before[1]! + 1])
    expect(await seriesValue('selvedge_http_request_duration_seconds_count{route="other"}')).toBeGreaterThan(
      3,
    )
    expect(await seriesValue('selvedge_containers{state="running"}')).toBe(1)
    expect(await seriesValue('selvedge_http_requests_active')).toBe(0)
    expect(await readMetrics()).not.toContain('private-name')
  })

  it('that the caller aborts are counted as aborted', async () => {
    const aborted = 'selvedge_http_requests_total{route="other",code="aborted"}'
    const before = await seriesValue(aborted)
    const { host } = new URL(services.url())
    const asked = request({ host: host.split(':')[0], port: host.split(':')[1], path, method: 'POST' })
    asked.on('error', () => undefined)
    asked.setHeader('Transfer-Encoding', 'chunked')
    asked.setHeader('Authorization', `Bearer ${services.token}`)
    asked.write('x')
    await expect.poll(() => seriesValue('selvedge_http_requests_active')).toBe(1)
    asked.destroy()
    await expect.poll(() => seriesValue(aborted)).toBe(before + 1)
    expect(await seriesValue('selvedge_http_requests_active')).toBe(0)
  })

  it('carry a well-formed trace of the caller, and no other', async () => {
    const seen = async (traceparent: string) =>
      JSON.parse((await services.call(`${path}/x`, { headers: { traceparent } })).text).traceparent
    expect(await seen(trace)).toBe(trace)
    expect(await seen(`${trace}-forged`)).toBe(undefined)
  })
})

describe('the ID of a request to a service', () => {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
  const idsOf = async (sent?: string, query = '') => {
    const { headers, text: body } = await services.call(`${path}/x${query}`, {
      ...(sent !== undefined && { headers: { 'X-Request-Id': sent } }),
    })
    return { toService: JSON.parse(body)['x-request-id'], toCaller: headers['x-request-id'] }
  }

  it('is that of the caller if it is safe, and else a new one; service and caller get the same', async () => {
    expect(await idsOf('caller-1')).toEqual({ toService: 'caller-1', toCaller: 'caller-1' })
    for (const unsafe of [undefined, '', 'a b', '"} forged', 'x'.repeat(65), 'x'.repeat(10_000), 'é']) {
      const { toService, toCaller } = await idsOf(unsafe)
      expect(toCaller).toMatch(uuid)
      expect(toService).toBe(toCaller)
    }
  })

  it('is not that of the service, however many it sends', async () => {
    expect((await idsOf('caller-1', '?id=forged')).toCaller).toBe('caller-1')
    expect((await idsOf(undefined, `?id=${'a'.repeat(5000)}&id=b`)).toCaller).toMatch(uuid)
  })

  it('is in the log of a service that does not answer', async () => {
    await services.deploy('mute', 'export default { fetch: () => new Promise(() => {}) }', {
      'MCM.MAX_EXECUTION_TIME_SEC': '1',
    })
    const { clientId } = services.developer
    const mute = `/${clientId}/mute`
    const { status, headers } = await services.call(`${mute}/x?q=private`, {
      headers: { 'X-Request-Id': 'caller-4' },
    })
    expect([status, headers['x-request-id']]).toEqual([504, 'caller-4'])
    const { lines } = await services
      .runtime()
      .getContainerLogs({ edgeAccessToken: services.token, id: `${clientId}-mute`, tail: 50 })
    const texts = lines.map((line) => JSON.stringify(line)).join('\n')
    expect(texts).toContain('no answer for GET /x (request caller-4)')
    expect(texts).not.toContain('private')
  })

  it('is on the refusal of a service that is not there, and of a WebSocket', async () => {
    const headers = { 'X-Request-Id': 'caller-2' }
    expect((await services.call('/nobody/x', { headers })).headers['x-request-id']).toBe('caller-2')
    expect(await upgrade('/nobody/x')).toMatch(/^HTTP\/1\.1 404 .*\r\nX-Request-Id: caller-3\r\n/s)
    // The service answers without an upgrade, and with an ID of its own.
    const answer = await upgrade(`${path}/x?id=forged`)
    expect(answer.match(/^x-request-id: .*$/gim)).toEqual(['X-Request-Id: caller-3'])
    expect(answer).toContain('"x-request-id":"caller-3"')
  })
})

async function upgrade(target: string): Promise<string> {
  const { host, hostname, port: at } = new URL(services.url())
  const socket = connect(Number(at), hostname)
  await once(socket, 'connect')
  const lines = [
    `GET ${target} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${services.token}`,
    'X-Request-Id: caller-3',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return text(socket)
}
