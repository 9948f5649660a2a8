/** Connections to instances: one request at a time, and nothing of one request reaches another. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { caughtFailures } from '@selvedge/service-kit/safely'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Running } from '../containers/instances.ts'
import { type Connection, type Connections, type ConnectionUser, createConnections } from './connections.ts'

let server: Server
let accepted: Socket[]
let running: Running
let connections: Connections
beforeEach(async () => {
  accepted = []
  server = createServer((socket) => {
    accepted.push(socket)
    socket.on('error', () => undefined)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  running = { instance: { upstream: { host: '127.0.0.1', port } } } as unknown as Running
  connections = createConnections()
})
afterEach(async () => {
  connections.close()
  for (const each of accepted) each.destroy()
  await new Promise((resolve) => server.close(resolve))
})

function userOf() {
  const seen: string[] = []
  const user: ConnectionUser = {
    read: (chunk) => void seen.push(`read ${chunk}`),
    ended: () => void seen.push('ended'),
    gone: (cause) => void seen.push(`gone ${(cause as NodeJS.ErrnoException | undefined)?.code}`),
    failed: (cause) => void seen.push(`failed ${cause.message}`),
  }
  return { user, seen }
}
async function open(): Promise<{ connection: Connection; far: Socket }> {
  const before = accepted.length
  const connection = connections.take(running)
  await expect.poll(() => accepted.length).toBe(before + 1)
  return { connection, far: accepted.at(-1)! }
}

it('an idle connection is used again, and is marked as such', async () => {
  const { connection } = await open()
  expect(connection.used).toBe(false)
  connections.keep(running, connection)
  expect(connections.take(running)).toBe(connection)
  expect(connection.used).toBe(true)
  // It is taken: the next request gets another one.
  expect((await open()).connection).not.toBe(connection)
})

it('is never used for another instance', async () => {
  const { connection } = await open()
  connections.keep(running, connection)
  const other = { instance: running.instance } as unknown as Running
  expect(connections.take(other)).not.toBe(connection)
})

it('its user gets what the instance sends, and its end', async () => {
  const { connection, far } = await open()
  const { user, seen } = userOf()
  connection.user = user
  far.write('a')
  await expect.poll(() => seen).toEqual(['read a'])
  far.end()
  await expect.poll(() => seen).toEqual(['read a', 'ended', 'gone undefined'])
})

it('its user learns why it is gone', async () => {
  const { connection, far } = await open()
  const { user, seen } = userOf()
  connection.user = user
  far.resetAndDestroy()
  await expect.poll(() => seen).toEqual(['gone ECONNRESET'])
})

it('bytes that no request waits for end it: they would be the answer to the next one', async () => {
  const { connection, far } = await open()
  connections.keep(running, connection)
  far.write('HTTP/1.1 200 OK\r\n\r\n')
  await expect.poll(() => connection.socket.destroyed).toBe(true)
  expect(connections.take(running)).not.toBe(connection)
})

it.each([0, 1])('an idle one that the instance closes is not used again; the others are: %i', async (at) => {
  const both = [await open(), await open()]
  for (const { connection } of both) connections.keep(running, connection)
  const [gone, left] = [both[at]!, both[1 - at]!]
  const closed = once(gone.connection.socket, 'close')
  gone.far.destroy()
  await closed
  expect(connections.take(running)).toBe(left.connection)
  expect((await open()).connection).not.toBe(gone.connection)
})

it('an idle one is closed with nothing to report', async () => {
  const reported: unknown[] = []
  const note = (failure: unknown) => void reported.push(failure)
  caughtFailures.subscribe(note)
  const first = await open()
  const second = await open()
  for (const { connection } of [first, second]) connections.keep(running, connection)
  const closed = [first, second].map(({ connection }) => once(connection.socket, 'close'))
  first.far.end()
  second.far.write('x')
  await Promise.all(closed)
  caughtFailures.unsubscribe(note)
  expect(reported).toEqual([])
})

it('one that closed before it became idle is not used again', async () => {
  const { connection } = await open()
  connection.socket.destroy()
  connections.keep(running, connection)
  expect(connections.take(running)).not.toBe(connection)
})

it('an answer that cannot be passed on fails its own request, and ends the connection', async () => {
  const { connection, far } = await open()
  const { user, seen } = userOf()
  connection.user = {
    ...user,
    read() {
      throw new Error('broken')
    },
  }
  far.write('a')
  await expect.poll(() => connection.socket.destroyed).toBe(true)
  await expect.poll(() => seen).toEqual(['failed broken', 'gone undefined'])
})

it('no more than 256 wait for one instance', async () => {
  const fake = () => {
    const calls: string[] = []
    const socket = {
      destroyed: false,
      destroy: () => calls.push('destroy'),
      unref: () => calls.push('unref'),
    }
    return { calls, connection: { socket, used: false, user: undefined } as unknown as Connection }
  }
  const all = Array.from({ length: 257 }, fake)
  for (const { connection } of all) connections.keep(running, connection)
  expect(all.slice(0, 256).every(({ calls }) => calls.join() === 'unref')).toBe(true)
  expect(all[256]!.calls).toEqual(['destroy'])
})

it('an idle one does not keep the process running, and one in use does', async () => {
  const { connection } = await open()
  const unref = vi.spyOn(connection.socket, 'unref')
  const ref = vi.spyOn(connection.socket, 'ref')
  connections.keep(running, connection)
  expect(unref).toHaveBeenCalledOnce()
  connections.take(running)
  expect(ref).toHaveBeenCalledOnce()
})

it('all of them close together', async () => {
  const first = await open()
  const second = await open()
  connections.keep(running, first.connection)
  connections.close()
  expect([first.connection.socket.destroyed, second.connection.socket.destroyed]).toEqual([true, true])
})
