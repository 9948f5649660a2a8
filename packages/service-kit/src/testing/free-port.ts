import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** The kernel gives outgoing connections ports from 32,768 on; Redis Cluster talks 10,000 above its own port. */
const lowest = 12_000
const highest = 22_000

/**
 * A port of the loopback that no outgoing connection and no other test takes while this process lives, also not while a program that
 * listens on it starts again.
 * @param twinDistance the port so far above it must be free, too
 */
export async function freePort(twinDistance = 0): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest)
    const wanted = new Set([port, port + twinDistance])
    if ((await every(wanted, reserve)) && (await every(wanted, isFree))) return port
  }
}

async function every(ports: Iterable<number>, isMet: (port: number) => Promise<boolean>): Promise<boolean> {
  for (const port of ports) if (!(await isMet(port))) return false
  return true
}

/** A name of an abstract socket is of one network namespace, as the port is, and ends with the process. */
async function reserve(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  return (await listen(`\0selvedge-test-port-${port}`)) !== undefined
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen({ port, host: '127.0.0.1' })
  if (server === undefined) return false
  server.close()
  await once(server, 'close')
  return true
}

async function listen(at: string | { port: number; host: string }) {
  const server = createServer().unref()
  server.listen(at as string)
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}
