/** A TCP proxy that can be frozen: connections stay open and nothing passes, as behind a router that lost its table. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface FreezingProxy {
  readonly port: number
  freeze(): void
  thaw(): void
  stop(): void
}

export async function startFreezingProxy(targetPort: number): Promise<FreezingProxy> {
  const sockets = new Set<Socket>()
  let isFrozen = false
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      if (isFrozen) socket.pause()
      socket.on('data', (chunk) => other.write(chunk))
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    freeze() {
      isFrozen = true
      for (const each of sockets) each.pause()
    },
    thaw() {
      isFrozen = false
      for (const each of sockets) each.resume()
    },
    stop() {
      server.close()
      for (const each of sockets) each.destroy()
    },
  }
}
