/** Bodies of unauthenticated callers use a bounded part of the memory. */
import { type AddressInfo, connect, type Socket } from 'node:net'
import { rpcPath } from '@selvedge/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { createRpcListener } from './rpc-listener.ts'
import { attach, createHttpServer } from './server.ts'

const ending: (() => unknown)[] = []
afterEach(() => {
  for (const end of ending.splice(0)) end()
})

const head = (length: number) =>
  `POST ${rpcPath} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
const large = 1_000_000

async function serve() {
  const never = new Promise<never>(() => undefined)
  const listener = createRpcListener({
    dispatcher: {
      dispatch: (text) => (text === '"late"' ? never : `${text.length}`),
      refuse: () => 'refused',
    },
    guard: { port: undefined, allowedOrigins: [] },
    maxBody: 1024 * 1024,
  })
  const server = createHttpServer({})
  attach(server, listener)
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  ending.push(() => server.close())
  const answers: string[] = []
  const send = (...parts: string[]): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    ending.push(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => answers.push(chunk.toString('latin1').slice(9, 12)))
    for (const part of parts) socket.write(part)
    return socket
  }
  const count = (status: string) => answers.filter((each) => each === status).length
  return { send, count }
}

describe('large bodies', () => {
  it.each([
    ['alone', ''],
    ['behind a call that is not answered yet', `${head(6)}"late"`],
  ])('%s are refused while too many are on their way, and small ones are not', async (_, before) => {
    const { send, count } = await serve()
    const sockets = Array.from({ length: 80 }, () => send(before, head(large), ' '.repeat(large - 1)))
    // Answers that wait behind another one are not seen.
    if (before === '') await expect.poll(() => count('503')).toBe(16)
    send(head(2), '{}')
    await expect.poll(() => count('200')).toBe(1)
    for (const socket of sockets) socket.destroy()
    await expect
      .poll(() => {
        send(head(large), ' '.repeat(large))
        return count('200')
      })
      .toBeGreaterThan(1)
  })
})
