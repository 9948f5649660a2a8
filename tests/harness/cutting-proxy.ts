/** A TCP proxy that breaks each connection after so many bytes of the client, as a bad mobile network does, or passes them on slowly. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  readonly port: number
  /** The first bytes of each connection since the last call of `cutAfter` or `slowTo`, as text. */
  readonly begins: readonly string[]
  /** From now on; earlier counts begin again. */
  cutAfter(bytes: number): void
  /** Passes on so many bytes of each client in a second, from now on; earlier counts begin again. */
  slowTo(bytesPerSecond: number): void
  /** Neither cuts nor slows any longer. @returns bytes of the clients that were passed on, or discarded by a cut, since the last call of `cutAfter` or `slowTo` */
  pass(): { readonly bytes: number }
  stop(): void
}

export async function startCuttingProxy(targetPort: () => number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let most = Number.POSITIVE_INFINITY
  let rate = Number.POSITIVE_INFINITY
  let bytes = 0
  const begins: string[] = []
  const server = createServer((client) => {
    const upstream = connect(targetPort(), '127.0.0.1')
    let left = most
    client.once('data', (chunk) => begins.push(String(chunk.subarray(0, 4096))))
    client.on('data', (chunk) => {
      // The target is gone, and what the system still has of the client reaches no program.
      if (!upstream.writable) return client.destroy()
      bytes += chunk.length
      upstream.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) client.destroy()
      if (rate === Number.POSITIVE_INFINITY) return
      client.pause()
      setTimeout(() => client.resume(), (chunk.length / rate) * 1000)
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
    begins,
    cutAfter(limit) {
      most = limit
      bytes = begins.length = 0
    },
    slowTo(bytesPerSecond) {
      rate = bytesPerSecond
      bytes = begins.length = 0
    },
    pass() {
      most = rate = Number.POSITIVE_INFINITY
      return { bytes }
    },
    stop() {
      server.close()
      for (const each of sockets) each.destroy()
    },
  }
}
