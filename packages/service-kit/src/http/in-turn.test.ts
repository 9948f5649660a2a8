import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { inTurn, isAnswering } from './in-turn.ts'

let handled: { readonly url: string; readonly response: ServerResponse }[] = []
/** Whether requests beyond the first one make the handler throw. */
let isFailing = false
const server = createServer(
  inTurn(({ url = '' }, response) => {
    if (isFailing && handled.length > 0) throw new Error('cannot be handled')
    handled.push({ url, response })
  }),
).listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  handled = []
  isFailing = false
})

/** A connection that sends some requests at once. */
function send(count: number) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  for (let at = 0; at < count; at++) socket.write(`GET /${at} HTTP/1.1\r\nHost: x\r\n\r\n`)
  return socket
}

it('handles a request once the one before it on its connection is answered, and others at once', async () => {
  const socket = send(3)
  const other = send(1)
  await expect.poll(() => handled.map(({ url }) => url).sort()).toEqual(['/0', '/0'])
  for (let at = 1; at < 3; at++) {
    for (const { response } of handled) if (!response.writableEnded) response.end('x')
    await expect.poll(() => handled.at(-1)?.url).toBe(`/${at}`)
    expect(handled).toHaveLength(at + 2)
  }
  socket.destroy()
  other.destroy()
})

it('knows whether a request of a connection is not answered yet', async () => {
  const socket = send(1)
  await expect.poll(() => handled.length).toBe(1)
  const [{ response }] = handled as [(typeof handled)[number]]
  const line = response.req.socket
  expect(isAnswering(line)).toBe(true)
  response.end('x')
  await expect.poll(() => isAnswering(line)).toBe(false)
  socket.write('GET /again HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(() => handled.map(({ url }) => url)).toEqual(['/0', '/again'])
  expect(isAnswering(line)).toBe(true)
  socket.destroy()
})

it('closes a connection with a request that cannot be handled', async () => {
  isFailing = true
  const socket = send(2).resume()
  await expect.poll(() => handled.length).toBe(1)
  handled[0]!.response.end('x')
  await once(socket, 'close')
  expect(handled).toHaveLength(1)
})

it('handles nothing more of a connection that is gone', async () => {
  const socket = send(3)
  await expect.poll(() => handled.length).toBe(1)
  const [{ response }] = handled as [(typeof handled)[number]]
  socket.destroy()
  await once(response, 'close')
  await new Promise(setImmediate)
  expect(handled).toHaveLength(1)
})

it('closes a connection on which more than 200 requests wait', async () => {
  const socket = send(202)
  await once(socket, 'close')
  expect(handled).toHaveLength(1)
})
