/** Connections to names with several addresses: RFC 8305. Packets to a full queue of a listener are dropped, as by a bad network. */
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, createServer, type LookupFunction, type Server, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { listenDeaf } from '../../../../../tests/harness/deaf-listener.ts'
import { openTcp, takeTurns } from './open-tcp.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0).toReversed()) close()
})

async function listen(host: string, port = 0): Promise<Server & { port: number }> {
  const server = createServer((socket) => void closing.push(() => socket.destroy()))
  server.listen(port, host)
  await once(server, 'listening')
  closing.push(() => server.close())
  return Object.assign(server, { port: (server.address() as AddressInfo).port })
}

async function deaf(host: string, port?: number) {
  const listener = await listenDeaf(host, port)
  closing.push(listener.close)
  return listener
}

const lookupOf =
  (...addresses: readonly string[]): LookupFunction =>
  (_, options, callback) => {
    const found = addresses.map((address) => ({ address, family: 4 }))
    if (options.all) callback(null, found)
    else callback(null, found[0]!.address, 4)
  }
const open = (port: number, addresses: readonly string[], timeoutMs = 60_000) =>
  openTcp({ host: 'a.example', port, lookup: lookupOf(...addresses), timeoutMs })

async function remoteOf(opening: Promise<Socket>): Promise<string | undefined> {
  const socket = await opening
  closing.push(() => socket.destroy())
  return socket.remoteAddress
}

it('where packets to the first address are dropped, the second one is connected to', async () => {
  const { port } = await deaf('127.0.0.1')
  await listen('127.0.0.2', port)
  expect(await remoteOf(open(port, ['127.0.0.1', '127.0.0.2']))).toBe('127.0.0.2')
})

it('a first address that is slow is not given up: it wins where packets to the second one are dropped', async () => {
  const slow = await deaf('127.0.0.1')
  await deaf('127.0.0.2', slow.port)
  const opening = open(slow.port, ['127.0.0.1', '127.0.0.2'])
  // After both attempts began.
  await new Promise((resolve) => setTimeout(resolve, 600))
  slow.wake()
  expect(await remoteOf(opening)).toBe('127.0.0.1')
})

it('an address that refuses is followed by the next one at once', async () => {
  const there = await listen('127.0.0.2')
  expect(await remoteOf(open(there.port, ['127.0.0.1', '127.0.0.3', '127.0.0.2']))).toBe('127.0.0.2')
})

it('the error is that of the last address, and no connection is left', async () => {
  const { port } = await listen('127.0.0.2')
  await expect(open(port, ['127.0.0.1', '127.0.0.3'])).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await expect(open(port, [])).rejects.toMatchObject({ code: 'ENOTFOUND' })
})

it('it ends with ETIMEDOUT, while the name server is silent as well', async () => {
  const silent: LookupFunction = () => undefined
  const target = { host: 'a.example', port: 1, lookup: silent, timeoutMs: 20 }
  await expect(openTcp(target)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
})

it('it is given up with the reason of its signal, before and after it has begun, and leaves no connection', async () => {
  const { port } = await deaf('127.0.0.1')
  const stop = new AbortController()
  const lookup = lookupOf('127.0.0.1')
  const opening = openTcp({ host: 'a.example', port, lookup, signal: stop.signal })
  const reason = new Error('not any more')
  setImmediate(() => stop.abort(reason))
  await expect(opening).rejects.toBe(reason)
  let questions = 0
  const counted: LookupFunction = (...of) => {
    questions++
    lookup(...of)
  }
  const late = openTcp({ host: 'a.example', port, lookup: counted, signal: stop.signal })
  await expect(late).rejects.toBe(reason)
  expect(questions).toBe(0)
})

it('a signal that comes later changes nothing of an open connection', async () => {
  const { port } = await listen('127.0.0.1')
  const stop = new AbortController()
  const socket = await openTcp({ host: '127.0.0.1', port, signal: stop.signal })
  closing.push(() => socket.destroy())
  stop.abort()
  expect(socket.destroyed).toBe(false)
})

it('connections that lost the race are closed', async () => {
  const one = await listen('127.0.0.1')
  let accepted = 0
  one.on('connection', () => accepted++)
  expect(await remoteOf(open(one.port, ['127.0.0.1', '127.0.0.1']))).toBe('127.0.0.1')
  await new Promise((resolve) => setTimeout(resolve, 400))
  expect(accepted).toBe(1)
})

it.each([
  [[], []],
  [
    ['a4', 'b4', 'c6', 'd4', 'e6'],
    ['a4', 'c6', 'b4', 'e6', 'd4'],
  ],
  [
    ['a6', 'b4', 'c4', 'd4'],
    ['a6', 'b4', 'c4', 'd4'],
  ],
  [
    ['a6', 'b6', 'c6', 'd4'],
    ['a6', 'd4', 'b6', 'c6'],
  ],
])('of %j, the families are tried in turn: %j', (given, turns) => {
  const read = (text: string): LookupAddress => ({ address: text, family: Number(text[1]) })
  expect(takeTurns(given.map(read)).map(({ address }) => address)).toEqual(turns)
})
