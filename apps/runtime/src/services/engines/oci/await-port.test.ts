import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { awaitPort } from './await-port.ts'

const never = new Promise<never>(() => undefined)

/** A server that closes each connection as soon as it has accepted it. */
async function closingServer() {
  const server = createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, upstream: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } }
}

it('waits at a published port until a connection stays open: the proxy of an engine accepts any', async () => {
  const { server, upstream } = await closingServer()
  expect(await awaitPort([upstream], '20 (MCM.PORT)', 0, never)).toMatch(
    /^it did not listen on its port 20 \(MCM\.PORT\)/,
  )
  server.close()
})

it('accepts the first connection at the address of a container, where its program itself listens', async () => {
  const { server, upstream } = await closingServer()
  const ofContainer = { ...upstream, localAddress: '127.0.0.1' }
  expect(await awaitPort([{ ...ofContainer, port: 1 }, ofContainer], '20', 0, never)).toBeUndefined()
  server.close()
  await once(server, 'close')
  expect(await awaitPort([ofContainer], '20', 0, never)).toMatch(/^it did not listen on its port/)
})
