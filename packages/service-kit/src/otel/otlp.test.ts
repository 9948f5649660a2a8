/** Export to collectors that are slow, silent, broken or hostile: the daemon neither waits nor grows. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../tests/harness/direct-network.ts'
import type { EndedRequest } from '../metrics/http-requests.ts'
import { createRegistry } from '../metrics/registry.ts'
import { createMemoryLog } from '../testing/index.ts'
import { type Otlp, type OtlpSettings, startOtlp } from './otlp.lazy.ts'

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

type Answer = (response: ServerResponse, request: IncomingMessage) => void

interface Collector {
  readonly url: string
  readonly bodies: { readonly path: string; readonly text: string }[]
  requests: number
  mostAtOnce: number
  answer: Answer
}

const accept: Answer = (response) => response.writeHead(200, { 'Content-Length': 0 }).end()

async function startCollector(answer: Answer = accept): Promise<Collector> {
  let open = 0
  const server: Server = createServer(async (request, response) => {
    collector.requests++
    collector.mostAtOnce = Math.max(collector.mostAtOnce, ++open)
    response.once('close', () => open--)
    let text = ''
    try {
      for await (const chunk of request) text += chunk
    } catch {
      // The client has given up meanwhile.
      return
    }
    collector.bodies.push({ path: request.url!, text })
    collector.answer(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const collector: Collector = { url, bodies: [], requests: 0, mostAtOnce: 0, answer }
  return collector
}

const quick = { spansMs: 10, metricsMs: 3_600_000, timeoutMs: 200, maxPauseMs: 20 }

function start(url: string, settings: Partial<OtlpSettings> = {}) {
  const log = createMemoryLog()
  const registry = createRegistry()
  const otlp = startOtlp(
    url,
    'runtime',
    {
      collect: registry.collect,
      outbound: directNetwork,
      routeOf: () => undefined,
      log,
    },
    { ...quick, ...settings },
  )
  ends.push(() => otlp.stop())
  return { otlp, log, registry }
}

const ended = (rawHeaders: string[] = [], method = 'GET'): EndedRequest => ({
  request: { method, rawHeaders } as unknown as IncomingMessage,
  response: { statusCode: 200 } as ServerResponse,
  route: '/token',
  begunAt: performance.now(),
})
const note = (otlp: Otlp, count: number) => {
  for (let at = 0; at < count; at++) otlp.onRequest(ended())
}
const spansOf = (collector: Collector) =>
  collector.bodies
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ text }) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans)

describe('spans', () => {
  it('link to the trace of the caller, and name the route', async () => {
    const collector = await startCollector()
    const { otlp } = start(collector.url)
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
    otlp.onRequest(ended(['traceparent', `00-${traceId}-${spanId}-01`], 'POST'))
    otlp.onRequest(ended(['traceparent', 'forged'], 'INVENTED'))
    await expect.poll(() => spansOf(collector)).toHaveLength(2)
    const [one, other] = spansOf(collector)
    expect(one).toMatchObject({ name: 'POST /token', kind: 2, links: [{ traceId, spanId }] })
    expect(one.traceId).not.toBe(traceId)
    expect(BigInt(one.endTimeUnixNano) >= BigInt(one.startTimeUnixNano)).toBe(true)
    expect(Math.abs(Number(BigInt(one.startTimeUnixNano) / 1_000_000n) - Date.now())).toBeLessThan(60_000)
    expect(other.name).toBe('_OTHER /token')
    expect(other).not.toHaveProperty('links')
  })

  it('are sent when the daemon stops', async () => {
    const collector = await startCollector()
    const { otlp } = start(collector.url, { spansMs: 3_600_000 })
    note(otlp, 3)
    await otlp.stop()
    expect(spansOf(collector)).toHaveLength(3)
  })
})

it('metrics are sent as totals, gauges and histograms', async () => {
  const collector = await startCollector()
  const { registry } = start(collector.url, { metricsMs: 20 })
  registry.counter('selvedge_a_total', 'A.', { outcome: ['ok'] }).count('ok')
  registry.gauge('selvedge_b', 'B.', () => 2)
  registry.histogram('selvedge_c_seconds', 'C.').observe(0.3)
  await expect.poll(() => collector.requests).toBeGreaterThan(0)
  await expect.poll(() => collector.bodies.length).toBeGreaterThan(0)
  const { metrics } = JSON.parse(collector.bodies.at(-1)!.text).resourceMetrics[0].scopeMetrics[0]
  expect(metrics).toMatchObject([
    {
      name: 'selvedge_a_total',
      sum: {
        isMonotonic: true,
        aggregationTemporality: 2,
        dataPoints: [{ asDouble: 1, attributes: [{ key: 'outcome', value: { stringValue: 'ok' } }] }],
      },
    },
    { name: 'selvedge_b', gauge: { dataPoints: [{ asDouble: 2 }] } },
    { name: 'selvedge_c_seconds', histogram: { dataPoints: [{ count: '1', sum: 0.3 }] } },
  ])
})

describe('a collector', () => {
  it('that never answers gets one request at a time, and what does not fit is dropped', async () => {
    const collector = await startCollector(() => undefined)
    const { otlp, log } = start(collector.url, { maxSpans: 1000 })
    for (let round = 0; round < 20; round++) {
      note(otlp, 1000)
      await sleep(20)
    }
    // At most the queue and one batch are held.
    expect(otlp.dropped()).toBeGreaterThanOrEqual(20_000 - 1000 - 512)
    await expect.poll(() => collector.requests).toBeGreaterThan(2)
    expect(collector.mostAtOnce).toBe(1)
    expect(log.lines.filter((line) => line.includes('the collector does not accept'))).toHaveLength(1)
  })

  it('that answers with an endless body is disconnected', async () => {
    let written = 0
    const disconnected = Promise.withResolvers<void>()
    const pour: Answer = (response) => {
      response.writeHead(200)
      response.once('close', () => disconnected.resolve())
      const piece = Buffer.alloc(65_536)
      const fill = () => {
        while (!response.destroyed && written < 100 * 1024 * 1024) {
          written += piece.length
          if (!response.write(piece)) return
        }
      }
      response.on('drain', fill)
      fill()
    }
    const collector = await startCollector(pour)
    const { otlp } = start(collector.url)
    note(otlp, 1)
    await expect.poll(() => collector.requests).toBe(1)
    await disconnected.promise
    expect(written).toBeLessThan(20 * 1024 * 1024)
    collector.answer = accept
    note(otlp, 1)
    await expect.poll(() => spansOf(collector)).toHaveLength(2)
  })

  it('that announces its answer without end is disconnected', async () => {
    let written = 0
    const announce: Answer = (response) => {
      const socket = response.socket!
      const piece = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(1000))
      const fill = () => {
        while (!socket.destroyed) {
          written += piece.length
          if (!socket.write(piece)) return
        }
      }
      socket.on('drain', fill)
      fill()
    }
    const collector = await startCollector(announce)
    const { otlp } = start(collector.url)
    note(otlp, 1)
    await expect.poll(() => collector.requests).toBeGreaterThan(0)
    collector.bodies.length = 0
    collector.answer = accept
    await expect.poll(() => spansOf(collector)).toHaveLength(1)
    expect(written).toBeLessThan(20 * 1024 * 1024)
  })

  it('that redirects is not followed, and its spans are dropped', async () => {
    const elsewhere = await startCollector()
    const collector = await startCollector((response) =>
      response.writeHead(307, { Location: `${elsewhere.url}/v1/traces`, 'Content-Length': 0 }).end(),
    )
    const { otlp } = start(collector.url)
    note(otlp, 5)
    await expect.poll(() => otlp.dropped()).toBe(5)
    expect(elsewhere.requests).toBe(0)
  })

  it.each([
    ['is overloaded', (response: ServerResponse) => void response.writeHead(503).end('x'.repeat(100_000))],
    ['closes the connection', (response: ServerResponse) => void response.destroy()],
    [
      'changes the protocol',
      (response: ServerResponse) =>
        void response.socket!.end('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    ],
    [
      'speaks something else',
      (response: ServerResponse) => void response.socket!.end('\u0000\u0001not HTTP\r\n\r\n'),
    ],
  ])('that %s gets the same spans later', async (_, answer) => {
    const collector = await startCollector(answer)
    const { otlp } = start(collector.url)
    note(otlp, 5)
    await expect.poll(() => collector.requests).toBeGreaterThan(1)
    collector.bodies.length = 0
    collector.answer = accept
    await expect.poll(() => spansOf(collector)).toHaveLength(5)
    expect(otlp.dropped()).toBe(0)
  })

  it('that is not there delays nothing, also not the end of the daemon', async () => {
    const { otlp, log } = start('http://127.0.0.1:9')
    note(otlp, 5000)
    await expect.poll(() => log.lines.length).toBeGreaterThan(0)
    await otlp.stop()
    expect(otlp.dropped()).toBeGreaterThan(0)
  })
})
