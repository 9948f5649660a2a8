import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { createLog } from '../log/log.ts'
import { type EventStream, openEventStream } from './event-stream.ts'
import { createHttpApp, listenApp } from './http-app.ts'

it('the events of a reader that never reads wait in bounded memory, and then the reader is let go', async () => {
  const log = createLog({ service: 'test', level: 'error', now: () => 0 }, () => undefined)
  const app = createHttpApp(log, 1000)
  let stream: EventStream | undefined
  let ends = 0
  let waiting = () => 0
  app.get('/events', (request, reply) => {
    stream = openEventStream(request, reply, () => ends++)
    waiting = () => reply.raw.writableLength
  })
  let url = ''
  await listenApp(app, '127.0.0.1', 0, (own) => {
    url = own
  })
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.pause()
  socket.write('GET /events HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(() => stream).toBeDefined()
  let most = 0
  const event = { text: 'x'.repeat(10_000) }
  for (let at = 0; at < 2000; at++) {
    stream?.send(event)
    most = Math.max(most, waiting())
    if (at % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  expect(most).toBeLessThan(600_000)
  await expect.poll(() => ends).toBe(1)
  const closed = once(socket, 'close')
  socket.destroy()
  await closed
  await app.close()
})
