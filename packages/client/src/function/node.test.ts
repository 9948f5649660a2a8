import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { callOf, type NodeApp, type NodeListener, toWorker } from './node.ts'
import { callWorker } from './testing.ts'
import type { WorkerContext } from './worker.ts'

const ctx = { info: {}, waitUntil: () => undefined } as unknown as WorkerContext
const call = async (app: NodeApp, path = '/', init: RequestInit & { duplex?: 'half' } = {}) =>
  toWorker(app).fetch(new Request(`http://device.test${path}`, init), { NAME: 'value' }, ctx)

const echo: NodeListener = (request, response) => request.pipe(response)

/** A body that counts the chunks of 64 KiB that were read from it. */
function endless() {
  const counted = { chunks: 0, isCancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        counted.chunks += 1
        controller.enqueue(new Uint8Array(65_536))
      },
      cancel: () => void (counted.isCancelled = true),
    },
    { highWaterMark: 0 },
  )
  return { body, counted }
}

/** Resolves when a count stays the same while this process has nothing else to do. */
const settles = (count: () => number): Promise<void> =>
  vi.waitFor(
    async () => {
      const before = count()
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      expect(count()).toBe(before)
    },
    { timeout: 120_000 },
  )

describe('an app for node:http as a worker', () => {
  it('gets the method, the path with its query, and the headers', async () => {
    const response = await call(
      ({ method, url, headers }, response) => response.end(JSON.stringify({ method, url, headers })),
      '/a%20b/..//c?d=%2F&d=1#e',
      { method: 'PUT', headers: { 'X-A': 'ä', Connection: 'x', Expect: '100-continue' } },
    )
    expect(await response.json()).toEqual({
      method: 'PUT',
      url: '//c?d=%2F&d=1',
      headers: { host: 'device.test', 'x-a': 'ä', connection: 'close', 'content-length': '0' },
    })
  })

  it('answers with its status, its text and its headers, repeated ones too', async () => {
    const response = await call((_, response) => {
      response.writeHead(418, 'I am a pot', {
        'Set-Cookie': ['a=1', 'b=2; Path=/'],
        'X-A': 'b',
        Trailer: 'X-T',
        'Transfer-Encoding': 'chunked',
      })
      response.addTrailers({ 'X-T': 'dropped' })
      response.end('short and stout')
    })
    expect([response.status, response.statusText]).toEqual([418, 'I am a pot'])
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2; Path=/'])
    expect([...response.headers.keys()].toSorted()).toEqual(['date', 'set-cookie', 'set-cookie', 'x-a'])
    expect(await response.text()).toBe('short and stout')
  })

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('answers %s %i without a body', async (method, status) => {
    const app: NodeListener = (_, response) =>
      response.writeHead(status, status === 200 ? { 'Content-Length': 5 } : {}).end('hello')
    const response = await call(app, '/', { method })
    expect([response.status, response.body]).toEqual([status, null])
    expect(response.headers.get('content-length')).toBe(status === 200 ? '5' : null)
  })

  it('carries bodies of 5 MB in both directions, whole', async () => {
    const bytes = new Uint8Array(5_000_000).map((_, at) => at % 251)
    const response = await call(echo, '/', { method: 'POST', body: bytes })
    expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), bytes)).toBe(0)
  })

  it('sends what is written before the response is complete', async () => {
    const part = Promise.withResolvers<ServerResponse>()
    const response = await call((_, response) => {
      response.write('first')
      part.resolve(response)
    })
    const reader = response.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('first')
    const { end } = await part.promise.then((open) => ({ end: () => open.end('last') }))
    end()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('last')
    expect((await reader.read()).done).toBe(true)
  })

  it('reads no more of a request than the app reads, and cancels the rest at its answer', async () => {
    const { body, counted } = endless()
    const waiting = Promise.withResolvers<ServerResponse>()
    const answered = call((_, response) => waiting.resolve(response), '/', {
      method: 'POST',
      body,
      duplex: 'half',
    })
    const response = await waiting.promise
    await settles(() => counted.chunks)
    expect(counted.chunks).toBeLessThan(40)
    response.end('enough')
    expect(await (await answered).text()).toBe('enough')
    await vi.waitFor(() => expect(counted.isCancelled).toBe(true), { timeout: 120_000 })
  })

  it('waits for a caller that does not read', async () => {
    const { body, counted } = endless()
    const response = await call((_, response) => void Readable.fromWeb(body as never).pipe(response))
    await settles(() => counted.chunks)
    expect(counted.chunks).toBeLessThan(40)
    await response.body!.cancel()
  })

  it.each([
    ['in the middle of an answer', async (response: Response) => response.body!.cancel()],
    ['by its signal', async (_: Response, leave: () => void) => leave()],
  ])('learns that its caller left %s', async (_, leaveBy) => {
    const closed = Promise.withResolvers<boolean>()
    const controller = new AbortController()
    const app: NodeListener = (_request, response) => {
      response.on('close', () => closed.resolve(response.writableFinished))
      response.write('a')
    }
    const response = await call(app, '/', { signal: controller.signal })
    await leaveBy(response, () => controller.abort())
    expect(await closed.promise).toBe(false)
  })

  it('rejects when its caller leaves before the answer', async () => {
    const controller = new AbortController()
    const begun = Promise.withResolvers<IncomingMessage>()
    const answered = call((request) => begun.resolve(request), '/', { signal: controller.signal })
    const request = await begun.promise
    const closed = new Promise((resolve) => request.on('close', resolve))
    controller.abort()
    await expect(answered).rejects.toThrow(/aborted/)
    await closed
    await expect(call(echo, '/', { signal: AbortSignal.abort() })).rejects.toThrow(/aborted/)
  })

  it.each<[string, NodeListener]>([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', async () => Promise.reject(new Error('broken'))],
    ['destroys its request', (request) => request.destroy(new Error('broken'))],
    ['answers with a status of no response', (_, response) => response.writeHead(700).end('broken')],
    ['begins what it cannot end', (_, response) => response.socket!.end('broken\r\n\r\n')],
  ])('fails alone where it %s', async (_, app) => {
    await expect(call(app)).rejects.toThrow(/broken|hang up|700|Parse Error/)
    expect(await (await call(echo, '/', { method: 'POST', body: 'next' })).text()).toBe('next')
  })

  it('breaks an answer off where it fails after the headers', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const failed = Promise.withResolvers<void>()
    const app: NodeListener = async (_, response) => {
      response.write('begun')
      await failed.promise
      throw new Error('late')
    }
    const response = await call(app)
    failed.resolve()
    await expect(response.text()).rejects.toThrow()
    expect(String(log.mock.calls[0])).toContain('late')
    log.mockRestore()
  })

  it.each(['4', '6'])('refuses a body of 5 bytes that is announced with %s', async (length) => {
    const seen: string[] = []
    const app: NodeListener = (request, response) => {
      seen.push(request.url!)
      request.resume().on('end', () => response.end())
    }
    const body = new Blob(['12345']).stream()
    const init = { method: 'POST', body, headers: { 'Content-Length': length }, duplex: 'half' } as const
    await expect(call(app, '/once', init)).rejects.toThrow()
    expect(seen.join()).toMatch(/^(\/once)?$/)
  })

  it('can read what the worker got, and the address of the gateway', async () => {
    const response = await call((request, response) => {
      const { env, request: own } = callOf(request)
      response.end([env.NAME, own.url, request.socket.remoteAddress].join())
    })
    expect(await response.text()).toBe('value,http://device.test/,127.0.0.1')
    expect(() => callOf({} as never)).toThrow(TypeError)
  })

  it('is a listener, a server, or has the methods of koa or fastify', async () => {
    const listener: NodeListener = (_, response) => response.end('answered')
    const fastify = { ready: vi.fn(async () => undefined), routing: listener }
    for (const app of [listener, createServer(listener), { callback: () => listener }, fastify])
      expect(await (await callWorker(toWorker(app), { url: '/x' })).text()).toBe('answered')
    expect(fastify.ready).toHaveBeenCalledOnce()
  })

  it('prepares again after it could not start', async () => {
    const ready = vi.fn(async () => undefined).mockRejectedValueOnce(new Error('not yet'))
    const worker = toWorker({ ready, routing: (_, response) => response.end('now') })
    await expect(callWorker(worker)).rejects.toThrow('not yet')
    expect(await (await callWorker(worker)).text()).toBe('now')
  })

  it.each([[null], [{}], ['app'], [{ fetch: echo }]])('refuses %j with what to give instead', (app) => {
    expect(() => toWorker(app as never)).toThrow(/fastify instance/)
  })
})
