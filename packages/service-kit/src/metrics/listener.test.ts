/** Readers of metrics, hostile ones included: everyone on this machine can reach a port of the loopback interface. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { LocalAddress } from '../addresses/local-address.ts'
import { readLocalAddress } from '../addresses/local-address.ts'
import { listenLocal } from '../http/listen-local.ts'
import {
  createMetricsListener,
  type MetricsListenerSettings,
  metricsLimits,
  metricsSocketMode,
} from './listener.ts'

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Large enough that it does not fit into the buffers of a socket. */
const large = `# ${'x'.repeat(16 * 1024 * 1024)}\n`

async function start(
  read: () => string,
  settings: Partial<MetricsListenerSettings> = {},
  where: LocalAddress = { addresses: ['127.0.0.1'], port: 0 },
) {
  const listening = await listenLocal(
    where,
    metricsSocketMode,
    'option "metrics.listen"',
    metricsLimits,
    (port) => createMetricsListener(read, port, settings),
  )
  closing.push(() => listening.close())
  return listening.port!
}

function get(options: object): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ path: '/metrics', agent: false, ...options }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end()
  })
}

/** Sends a request, and never reads the answer. */
async function neverRead(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => undefined)
  closing.push(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write(`GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  // The answer has begun; no more than the first buffer of it is read.
  await Promise.race([once(socket, 'readable'), once(socket, 'close')])
  return socket
}

describe('the listener of metrics', () => {
  it('shows metrics to a program of the machine, without CORS and without a cache', async () => {
    const port = await start(() => 'a_total 1\n')
    const { status, headers, text } = await get({ port })
    expect({ status, text }).toEqual({ status: 200, text: 'a_total 1\n' })
    expect(headers).toMatchObject({
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it.each([
    ['a name that resolves here (DNS rebinding)', { Host: 'evil.example:80' }],
    ['the name of another port', { Host: 'localhost:8083' }],
    ['a page of another origin', { Origin: 'https://evil.example' }],
    ['a page of "null"', { Origin: 'null' }],
    ['a link on another page', { Referer: 'https://evil.example/x' }],
    ['a browser that names the site of the page', { 'Sec-Fetch-Site': 'cross-site' }],
  ])('refuses %s', async (_, headers) => {
    const port = await start(() => 'a_total 1\n')
    const { status, text, headers: shown } = await get({ port, headers })
    expect(status).toBe(403)
    expect(text).not.toContain('a_total')
    expect(Object.keys(shown).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  const nowhere = 'there is only GET /metrics\n'
  it.each([
    ['POST', '/metrics', 405, 'send GET\n'],
    ['OPTIONS', '/metrics', 405, 'send GET\n'],
    ['GET', '/', 404, nowhere],
    ['GET', '/metrics?x', 404, nowhere],
    ['GET', '/jsonrpc/v1', 404, nowhere],
  ])('answers %s %s with %i', async (method, path, status, expected) => {
    const port = await start(() => 'a_total 1\n')
    const { headers, ...answer } = await get({ port, method, path, headers: { Connection: 'keep-alive' } })
    expect(answer).toEqual({ status, text: expected })
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': String(expected.length),
      'x-content-type-options': 'nosniff',
      connection: 'close',
    })
    expect(headers.allow).toBe(status === 405 ? 'GET' : undefined)
  })

  it('answers HEAD with the length of the text, and leaves no timer behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    closing.push(() => void vi.useRealTimers())
    const port = await start(() => 'a_total 1\n')
    const { status, headers, text } = await get({ port, method: 'HEAD' })
    expect([status, headers['content-length'], text]).toEqual([200, '10', ''])
    await expect.poll(() => vi.getTimerCount()).toBe(0)
  })

  it('reads the metrics again after each second', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    closing.push(() => void vi.useRealTimers())
    let reads = 0
    const port = await start(() => `${++reads}`)
    const texts: string[] = []
    for (const ms of [0, 999, 1, 999, 1]) {
      vi.advanceTimersByTime(ms)
      texts.push((await get({ port })).text)
    }
    expect(texts).toEqual(['1', '1', '2', '2', '3'])
  })

  it('is not open to other machines, and names its setting where its port is in use', async () => {
    const read = () => ''
    const everywhere = { addresses: ['0.0.0.0'], port: 0 } as unknown as LocalAddress
    await expect(start(read, {}, everywhere)).rejects.toThrow('is not of the loopback')
    const port = await start(read)
    await expect(start(read, {}, { addresses: ['127.0.0.1'], port })).rejects.toThrow(
      'choose another port with option "metrics.listen"',
    )
  })

  it('reads the metrics once for many scrapes at the same time', async () => {
    let reads = 0
    const port = await start(() => `a_total ${++reads}\n`, { cachedMs: 3_600_000 })
    for (let round = 0; round < 25; round++) await Promise.all(Array.from({ length: 8 }, () => get({ port })))
    expect(reads).toBe(1)
  })

  it('disconnects readers that never read, and serves the next one', async () => {
    let text = large
    const port = await start(() => text, { sendMs: 300, cachedMs: 0 })
    for (let at = 0; at < 40; at++) await neverRead(port)
    text = 'a_total 1\n'
    await expect
      .poll(() =>
        get({ port }).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200)
  })

  it('closes most of a thousand connections that send nothing, and serves the next reader', async () => {
    const port = await start(() => 'a_total 1\n')
    let first: Socket | undefined
    for (let count = 0; count < 1000; count++) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined)
      first ??= socket.resume()
      closing.push(() => void socket.destroy())
      await once(socket, 'connect')
    }
    await expect.poll(() => first?.destroyed).toBe(true)
    expect((await get({ port })).text).toBe('a_total 1\n')
  })

  it('holds one text for all readers that never read', async () => {
    let reads = 0
    const port = await start(
      () => {
        reads++
        return large
      },
      { sendMs: 3_600_000, cachedMs: 3_600_000 },
    )
    const before = process.memoryUsage().arrayBuffers
    for (let at = 0; at < 12; at++) await neverRead(port)
    await get({ port })
    expect(reads).toBe(1)
    // Twelve copies would be 192 MB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(80 * 1024 * 1024)
  })

  it('on a Unix socket is for the user and the group of the daemon', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'selvedge-metrics-'))
    closing.push(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'metrics.sock')
    await start(() => 'a_total 1\n', {}, { path })
    // A thread of a test runner sets no umask.
    if (isMainThread) expect(statSync(path).mode & 0o777).toBe(0o660)
    expect((await get({ socketPath: path })).text).toBe('a_total 1\n')
    expect((await get({ socketPath: path, headers: { Host: 'evil.example' } })).status).toBe(403)
  })
})

it('is at both addresses of localhost, with the same port and the same checks', async () => {
  const port = await start(() => 'a_total 1\n', {}, readLocalAddress('localhost:0'))
  for (const host of ['127.0.0.1', '::1']) {
    expect((await get({ host, port })).text).toBe('a_total 1\n')
    expect((await get({ host, port, headers: { Host: 'evil.example' } })).status).toBe(403)
  }
})

it('at one address is not at the other one', async () => {
  const port = await start(() => 'a_total 1\n')
  await expect(get({ host: '::1', port })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

it.each([
  ['/run/selvedge/metrics.sock', { path: '/run/selvedge/metrics.sock' }],
  ['127.0.0.1:9464', { addresses: ['127.0.0.1'], port: 9464 }],
  ['localhost:0', { addresses: ['127.0.0.1', '::1'], port: 0 }],
  ['[::1]:9464', { addresses: ['::1'], port: 9464 }],
  ['0.0.0.0:9464', undefined],
  ['192.168.1.2:9464', undefined],
  ['127.0.0.1:65536', undefined],
  ['127.0.0.1', undefined],
  [':9464', undefined],
  ['metrics.sock', undefined],
  ['localhost.evil.example:80', undefined],
])('reads %s as a local address', (text, address) => {
  expect(readLocalAddress(text)).toEqual(address)
})
