import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** The kernel gives outgoing connections ports from 32,768 on; Redis Cluster talks 10,000 above its own port. */
const lowest = 12_000
const highest = 22_000

const given = new Set<number>()

/**
 * A free port of the loopback that no outgoing connection takes between this look and its use, or while a program starts again.
 * @param twinDistance the port so far above it must be free, too
 */
export async function freePort(twinDistance = 0): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest)
    if (given.has(port) || !(await isFree(port)) || !(await isFree(port + twinDistance))) continue
    given.add(port)
    return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
