/** A TCP proxy that breaks each connection after so many bytes of the client, as a bad mobile network does. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  readonly port: number
  /** From now on; earlier counts begin again. */
  cutAfter(bytes: number): void
  /** Cuts no longer. @returns bytes of the clients that were passed on or discarded since the last call of `cutAfter` */
  pass(): { readonly bytes: number }
  stop(): void
}

export async function startCuttingProxy(targetPort: () => number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let most = Number.POSITIVE_INFINITY
  let bytes = 0
  const server = createServer((client) => {
    const upstream = connect(targetPort(), '127.0.0.1')
    let left = most
    client.on('data', (chunk) => {
      bytes += chunk.length
      upstream.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) client.destroy()
    })
    upstream.on('data', (chunk) => client.write(chunk))
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.end()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter(limit) {
      most = limit
      bytes = 0
    },
    pass() {
      most = Number.POSITIVE_INFINITY
      return { bytes }
    },
    stop() {
      server.close()
      for (const each of sockets) each.destroy()
    },
  }
}
