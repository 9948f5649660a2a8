import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BackgroundError, fetchBounded, type Resource } from './fetch-bounded.ts'

describe('a request to the server of a background', () => {
  let server: Server
  let origin: string
  const asked: IncomingMessage[] = []
  const answers: Record<string, (response: ServerResponse) => void> = {
    '/tile': (response) => response.end('tile'),
    '/missing': (response) => response.writeHead(404).end('no'),
    '/empty': (response) => response.writeHead(204).end(),
    '/broken': (response) => response.writeHead(500).end('<script>alert(1)</script>'),
    '/large': (response) => response.end(Buffer.alloc(2_000_001)),
    '/bomb': (response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync(Buffer.alloc(20_000_000))),
    '/half': (response) => {
      response.writeHead(200, { 'Content-Length': 100_000 })
      response.write(Buffer.alloc(50_000), () => response.destroy())
    },
    '/away': (response) => response.writeHead(302, { Location: '/tile' }).end(),
    '/page': (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>'),
    '/endless': (response) => {
      const part = Buffer.alloc(65_536)
      const write = () => {
        while (!response.destroyed && response.write(part));
      }
      response.on('drain', write)
      write()
    },
  }
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request)
      answers[request.url!]!(response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const load = (path: string, resource: Resource = 'tile', signal?: AbortSignal) =>
    fetchBounded(new URL(path, origin), resource, [origin], signal)

  it('gets the bytes, and sends no cookie and no referrer', async () => {
    expect(Buffer.from((await load('/tile'))!).toString()).toBe('tile')
    expect(asked.at(-1)!.headers).not.toHaveProperty('cookie')
    expect(asked.at(-1)!.headers).not.toHaveProperty('referer')
  })

  it('finds no tile that the server does not have', async () => {
    expect(await load('/missing')).toBeUndefined()
    expect(await load('/empty')).toBeUndefined()
    await expect(load('/missing', 'other')).rejects.toThrow('answers with status 404')
  })

  it.each([
    ['/broken', 'answers with status 500'],
    ['/large', 'sends more than 2 MB'],
    ['/bomb', 'sends more than 2 MB'],
    ['/endless', 'sends more than 2 MB'],
    ['/half', 'stopped in the middle'],
    ['/away', 'does not answer'],
  ])('of %s fails: it %s', async (path, message) => {
    const failure = await load(path).catch((cause) => cause)
    expect(failure).toBeInstanceOf(BackgroundError)
    expect(failure.message).toContain(message)
    expect(failure.message).not.toContain('<')
  })

  it('refuses what is not an image', async () => {
    await expect(load('/page', 'image')).rejects.toThrow('something else than small images')
  })

  it('sends nothing to another origin', async () => {
    const before = asked.length
    for (const other of [
      'http://127.0.0.1:1',
      'https://tiles.example',
      origin.replace('127.0.0.1', 'localhost'),
    ])
      await expect(fetchBounded(new URL(other), 'tile', [origin])).rejects.toThrow(
        'is not in console.mapHosts',
      )
    expect(asked).toHaveLength(before)
  })

  it('ends when the map does not need it any more', async () => {
    const abort = new AbortController()
    const loading = load('/endless', 'other', abort.signal)
    abort.abort()
    await expect(loading).rejects.toMatchObject({ name: 'AbortError' })
  })
})
