/** A name server on the loopback, with the answers that a test gives it. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type Answer, decode, encode } from 'dns-packet'

export interface NameServer {
  /** Address and port. */
  readonly at: string
  /** Questions that came, by name. */
  readonly asked: string[]
  /** Addresses of names; undefined: it never answers. Other names do not exist. */
  readonly names: Map<string, readonly string[] | undefined>
  close(): void
}

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4')
  const names = new Map<string, readonly string[] | undefined>()
  const asked: string[] = []
  socket.on('message', (bytes, { address, port }) => {
    const { id, questions = [] } = decode(bytes)
    const name = questions[0]?.name.toLowerCase() ?? ''
    asked.push(name)
    const found = names.get(name)
    if (names.has(name) && found === undefined) return
    const answers: Answer[] = (found ?? []).map((data) => ({ type: 'A', name, ttl: 1, data }))
    // 3: the name does not exist.
    const flags = 0x8180 | (found ? 0 : 3)
    socket.send(encode({ type: 'response', id: id ?? 0, flags, questions, answers }), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { at: `127.0.0.1:${socket.address().port}`, asked, names, close: () => void socket.close() }
}
