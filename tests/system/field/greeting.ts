import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * What a server on the loopback sends, up to a text.
 *
 * @param sent what the client sends first
 * @param awaited without it, the first bytes are enough
 * @throws Error if the server closes the connection before
 */
export async function greeting(port: number, sent: Buffer = Buffer.alloc(0), awaited = ''): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.write(sent)
    let received = ''
    for await (const chunk of socket) {
      received += (chunk as Buffer).toString('latin1')
      if (received.includes(awaited)) return received
    }
    throw new Error(`the connection was closed after ${JSON.stringify(received.slice(0, 200))}`)
  } finally {
    socket.destroy()
  }
}
