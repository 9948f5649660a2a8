/** How the connection of a function is opened: which targets use the proxy, and what its socket has. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Network } from '@selvedge/service-kit/network'
import { afterEach, expect, it, vi } from 'vitest'
import { dial } from './dial.ts'

type Asked = Parameters<Network['connectTo']>[0]

const server = createServer()
afterEach(() => void server.close())

/** Dials, without a connection. @returns what the network was asked for */
function dialTo(host: string, opening: Promise<Socket> = new Promise(() => undefined)) {
  const asked: Asked[] = []
  const network = {
    connectTo(target: Asked) {
      asked.push(target)
      return opening
    },
  }
  const dialled = dial({ host, port: 5432 }, { network, resolve: async () => [] })
  return { ...dialled, asked: asked[0]! }
}

it.each([
  ['a name', 'db.example', false],
  ['a public address', '8.8.8.8', false],
  ['an address of the own network', '10.0.0.5', true],
  ['an address of the own network (IPv6)', 'fd00::5', true],
])('%s is reached directly, or through the proxy', (_, host, isDirect) => {
  const { asked } = dialTo(host)
  expect(asked).toMatchObject({ host, port: 5432, isDirect })
})

it('sends small messages at once, and probes a connection without data after a minute', async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect(server.address() as never)
  const calls = { noDelay: vi.spyOn(socket, 'setNoDelay'), keepAlive: vi.spyOn(socket, 'setKeepAlive') }
  expect(await dialTo('db.example', Promise.resolve(socket)).opened).toBe(socket)
  expect(calls.noDelay).toHaveBeenCalledWith(true)
  expect(calls.keepAlive).toHaveBeenCalledWith(true, 60_000)
  socket.destroy()
})

it('gives up with a code of a connection', () => {
  const { asked, cancel } = dialTo('db.example')
  expect(asked.signal.aborted).toBe(false)
  cancel()
  expect(asked.signal.reason).toMatchObject({ code: 'ECONNRESET' })
})
