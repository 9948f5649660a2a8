/** Requests with a token to a runtime, and logs: what a hostile runtime may answer, and when another token is tried. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { LineTooLong } from '@selvedge/protocol/lines'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ConnectionFailure } from '../errors.ts'
import { followLogs, readJson, type StreamConnection, send } from './streams.ts'

let server: Server
let url: string
let seen: IncomingMessage[]
let answer: (response: ServerResponse, request: IncomingMessage) => unknown
beforeEach(async () => {
  seen = []
  answer = (response) => response.end('{}')
  server = createServer((request, response) => {
    seen.push(request)
    answer(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const connection = (more: Partial<StreamConnection> = {}): StreamConnection => ({
  url,
  edgeAccessToken: 't',
  ...more,
})
const call = async (of = connection()) =>
  readJson(await send(of, 'POST', '/x?a=b', { A: 'b' }, { body: 'text' }))
const headers = () => seen.map((each) => each.headers)

it('a request has the token, or a proof of it for this address', async () => {
  expect(await call()).toEqual({})
  await call(connection({ prove: async (...of) => of.join(' ') }))
  expect(headers()).toMatchObject([
    { authorization: 'Bearer t', a: 'b' },
    { authorization: 'DPoP t', dpop: `POST ${url}/x?a=b` },
  ])
  expect(seen.map(({ method, url: path }) => [method, path])).toEqual(Array(2).fill(['POST', '/x?a=b']))
})

describe('a refused token', () => {
  const refuse = () => {
    answer = (response, { headers: { authorization } }) =>
      authorization === 'Bearer new' ? response.end('{"a":1}') : response.writeHead(401).end('{"error":{}}')
  }

  it('is renewed once', async () => {
    refuse()
    const of = { url, edgeAccessToken: 't' }
    const renew = async () => void (of.edgeAccessToken = 'new')
    expect(await call(Object.assign(of, { renew }))).toEqual({ a: 1 })
    expect(headers().map(({ authorization }) => authorization)).toEqual(['Bearer t', 'Bearer new'])
  })

  it.each([
    ['there is no other one', undefined],
    ['the other one is the same', async () => 'x'],
    ['another one cannot be had', () => Promise.reject(new Error('no'))],
  ])('is refused if %s', async (_, renew) => {
    refuse()
    await expect(call(connection(renew && { renew }))).rejects.toMatchObject({ reason: 'refused' })
    expect(seen).toHaveLength(1)
  })

  it('is not renewed for another answer', async () => {
    answer = (response) => response.writeHead(403).end('{"error":{}}')
    let renewals = 0
    const renew = async () => renewals++
    await expect(call(connection({ renew }))).rejects.toMatchObject({ reason: 'refused' })
    expect(renewals).toBe(0)
  })
})

it('a refusal has the reason, the words and the hint of the runtime', async () => {
  answer = (response) =>
    response.writeHead(404).end('{"error":{"reason":"not_found","message":"no van","hint":"look again"}}')
  await expect(call()).rejects.toMatchObject({ reason: 'not_found', message: 'no van', hint: 'look again' })
  answer = (response) => response.writeHead(404).end('{"error":{"reason":"not_found","message":"no van"}}')
  await expect(call()).rejects.toMatchObject({ reason: 'not_found', hint: expect.stringMatching(/./) })
})

it.each([
  ['null', '(): '],
  ['{"error":null}', '(): '],
  ['{"error":{"reason":"toString","message":"m"}}', '(toString): m'],
  ['{"error":{"reason":7,"message":{}}}', '(): '],
])('a refusal that is not of the catalogue is shown as it is: %s', async (body, shown) => {
  answer = (response) => response.writeHead(418).end(body)
  await expect(call()).rejects.toMatchObject({
    reason: 'refused',
    message: `the runtime answered HTTP 418 ${shown}`,
  })
})

it.each<[string, (response: ServerResponse) => unknown, RegExp]>([
  [
    'is no JSON',
    (response) => response.end('{'),
    /^bad_answer: .*an answer of HTTP 200 that is not JSON, by SyntaxError/,
  ],
  [
    'is too long',
    (response) => response.write('1'.repeat(1024 * 1024 + 1)),
    /^bad_answer: .*answered 200 with more than 1048576/,
  ],
  [
    'breaks off',
    (response) => {
      response.writeHead(200, { 'Content-Length': '9' }).write('{')
      setImmediate(() => response.destroy())
    },
    /^bad_answer: .*closed the connection within its answer, by Error/,
  ],
  [
    'changes the protocol',
    ({ socket }) => socket!.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    /^not_running: .*it answers by changing the protocol, by Error/,
  ],
])('an answer that %s is a failure, and its connection is closed', async (_, how, expected) => {
  answer = how
  const failure = await call().then(undefined, (cause: ConnectionFailure) => cause)
  const { reason, message, cause } = failure as ConnectionFailure & { cause?: Error }
  expect(`${reason}: ${message}, by ${cause?.name}`).toMatch(expected)
  await expect.poll(() => seen[0]!.socket.destroyed).toBe(true)
})

it('a connection is probed while nothing comes', async () => {
  const probes = vi.spyOn(Socket.prototype, 'setKeepAlive')
  onTestFinished(() => probes.mockRestore())
  await call()
  expect(probes).toHaveBeenCalledWith(true, 30_000)
})

it('the longest answer is read', async () => {
  answer = (response) => response.end(`"${'x'.repeat(1024 * 1024 - 2)}"`)
  expect(await call()).toHaveLength(1024 * 1024 - 2)
})

it('a runtime that is not there is named', async () => {
  server.close()
  server.closeAllConnections()
  await expect(call()).rejects.toMatchObject({
    reason: 'not_running',
    message: expect.stringContaining(`nothing answers at ${url}: `),
  })
  await expect(call(connection({ socketPath: '/missing.sock' }))).rejects.toMatchObject({
    message: expect.stringContaining('nothing answers at /missing.sock: '),
  })
  const file = { path: import.meta.filename, size: 9, onProgress: () => undefined }
  await expect(send(connection(), 'PUT', '/x', {}, { file })).rejects.toMatchObject({ reason: 'not_running' })
})

it('a runtime that does not answer in time is a failure', async () => {
  answer = () => undefined
  await expect(send(connection(), 'GET', '/x', {}, { timeoutMs: 20 })).rejects.toMatchObject({
    ...{ reason: 'timeout', message: `${url} did not answer within 20 ms` },
  })
  await expect.poll(() => seen[0]?.socket.destroyed).toBe(true)
})

describe('a log', () => {
  const follow = async (options: Parameters<typeof followLogs>[2] = {}) => {
    const lines: unknown[] = []
    await followLogs(connection(), 'a/b', options, (line) => lines.push(line))
    return lines
  }

  it('is followed line by line, from a time or a number of lines', async () => {
    answer = (response) => response.end('{"text":"a"}\n{"text":"b"}\n')
    expect(await follow()).toEqual([{ text: 'a' }, { text: 'b' }])
    await follow({ since: '2026-01-01', tail: 0 })
    expect(seen.map((each) => [each.method, each.url])).toEqual([
      ['GET', expect.stringMatching(/\/a%2Fb\/logs\?follow=true$/)],
      ['GET', expect.stringMatching(/\/logs\?follow=true&since=2026-01-01&tail=0$/)],
    ])
  })

  it('with a line that is too long, or is no JSON, is a failure', async () => {
    answer = (response) => response.end(`"${'x'.repeat(128 * 1024)}"\n`)
    await expect(follow()).rejects.toMatchObject({
      ...{ reason: 'bad_answer', message: expect.stringMatching(/^the runtime sent a line/) },
      cause: expect.any(LineTooLong),
    })
    answer = (response) => response.end('x\n')
    await expect(follow()).rejects.toMatchObject({
      message: expect.stringContaining('a log line that is not JSON'),
    })
  })

  it('that is refused is not read', async () => {
    answer = (response) => response.writeHead(404).end('{"error":{"reason":"not_found","message":"no van"}}')
    await expect(follow()).rejects.toMatchObject({ reason: 'not_found' })
  })

  it('is followed until it is cancelled', async () => {
    const controller = new AbortController()
    answer = (response) => response.write('{"text":"a"}\n')
    const { signal } = controller
    const following = followLogs(connection(), 'a', { signal }, () => controller.abort())
    await expect(following).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(seen).toHaveLength(1)
  })
})
