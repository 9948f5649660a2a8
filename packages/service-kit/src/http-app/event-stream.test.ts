import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createLog } from '../log/index.ts'
import { type EventStream, openEventStream } from './event-stream.ts'
import { createHttpApp } from './http-app.ts'

const app = createHttpApp(createLog({ service: 'test', level: 'error', now: Date.now }), 1024, { vital: [] })
let stream: EventStream
let ends = 0
app.get('/events', (request, reply) => {
  stream = openEventStream(request, reply, () => {
    ends++
  })
})
const url = await app.listen({ port: 0, host: '127.0.0.1' })
afterEach(() => {
  ends = 0
})

/** A reader that opens a stream and does not read. */
async function open() {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  const [head] = await once(socket, 'data')
  expect(String(head)).toContain('200 OK')
  socket.pause()
  socket.on('error', () => undefined)
  return socket
}

it('ends once, and writes nothing after its end, also when its reader does not read', async () => {
  const socket = await open()
  // More than the sockets take, less than what ends the connection.
  for (let sent = 0; sent < 60; sent++) stream.send({ text: 'x'.repeat(4000) })
  stream.end()
  expect(ends).toBe(1)
  // Each of these would be a write after the end, with an error that nothing listens for.
  for (let sent = 0; sent < 10; sent++) stream.send({ text: 'late' })
  stream.end()
  socket.resume()
  await once(socket, 'close')
  await new Promise(setImmediate)
  expect(ends).toBe(1)
})

it('closes the connection of a reader that lets 256 kB wait', async () => {
  const socket = await open()
  for (let sent = 0; sent < 20_000 && ends === 0; sent++) {
    stream.send({ text: 'x'.repeat(4000) })
    if (sent % 100 === 0) await new Promise(setImmediate)
  }
  expect(ends).toBe(1)
  socket.destroy()
})

it('ends when its reader leaves', async () => {
  const socket = await open()
  socket.destroy()
  await expect.poll(() => ends).toBe(1)
  stream.send({ text: 'late' })
})

it('ends in order when its app closes', async () => {
  const socket = await open()
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  const left = once(socket.resume(), 'end')
  await app.close()
  expect(ends).toBe(1)
  await left
  // The last chunk: the connection was not cut off.
  expect(received).toMatch(/0\r\n\r\n$/)
})
