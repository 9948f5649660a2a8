/** Events of runtimes that are hostile, or gone: no answer, no end, and no form that a runtime sends. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { watchEvents } from './events.ts'

let server: Server
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  server.close()
})

/** @param answer called with each connection that has sent a request */
async function listen(answer: (socket: Socket) => void) {
  server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => answer(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, edgeAccessToken: 'x' }
}

const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n'
const first = 'event: clock\ndata: {"topic":"clock","data":{"state":"trusted"}}\n\n'

async function read(answer: (socket: Socket) => void, silenceMs?: number): Promise<unknown[]> {
  const connection = await listen(answer)
  const events: unknown[] = []
  const options = silenceMs === undefined ? {} : { silenceMs }
  for await (const event of watchEvents(connection, ['clock'], options)) events.push(event)
  return events
}

const badAnswer = { kind: 'connection', reason: 'bad_answer' }

describe('a runtime', () => {
  it('that never answers is an error after the time of silence', async () => {
    await expect(read(() => undefined, 50)).rejects.toMatchObject({ kind: 'connection', reason: 'timeout' })
  })

  it('that sends nothing more counts as gone after the time of silence', async () => {
    expect(await read((socket) => socket.write(head + first), 200)).toMatchObject([{ topic: 'clock' }])
  })

  it('that sends comments stays', async () => {
    let beats = 0
    const answer = (socket: Socket) => {
      socket.write(head + first)
      const timer = setInterval(() => {
        if (++beats < 20) return void socket.write(': still here\n\n')
        clearInterval(timer)
        socket.end(first)
      }, 50)
    }
    expect(await read(answer, 900)).toHaveLength(2)
  })

  it.each(['null', '1', '"text"', '[]', '{}', '{"topic":"clock"}', '{"topic":"fixes","data":null}', '{'])(
    'that sends the event %s is refused',
    async (data) => {
      const answer = (socket: Socket) => socket.end(`${head}event: clock\ndata: ${data}\n\n`)
      await expect(read(answer)).rejects.toMatchObject(badAnswer)
    },
  )

  it.each([
    'null',
    '1',
    '[]',
    '{}',
    '{"reason":{}}',
    '{"reason":"token_expired"}',
    '{"reason":"toString","detail":""}',
  ])('that ends with %s only ends', async (data) => {
    const answer = (socket: Socket) => socket.end(`${head}${first}event: end\ndata: ${data}\n\n`)
    expect(await read(answer)).toHaveLength(1)
  })

  it.each(['null', '1', '[]', '{"error":null}', '{"error":"text"}', '{"error":{"reason":{},"message":[]}}'])(
    'that refuses with %s is an error',
    async (body) => {
      const answer = (socket: Socket) =>
        socket.end(`HTTP/1.1 403 No\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`)
      await expect(read(answer)).rejects.toMatchObject({ kind: 'connection', reason: 'refused' })
    },
  )

  it('that refuses with a reason is that error, also with members of other types', async () => {
    const body = '{"error":{"reason":"token_expired","message":{},"hint":[]}}'
    const answer = (socket: Socket) =>
      socket.end(`HTTP/1.1 401 No\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`)
    await expect(read(answer)).rejects.toMatchObject({ kind: 'rpc', reason: 'token_expired', message: '' })
  })

  it('that sends a line without end is refused', async () => {
    const answer = (socket: Socket) => {
      socket.write(`${head}data: `)
      const more = () => {
        while (!socket.destroyed && socket.write('x'.repeat(100_000)));
      }
      socket.on('drain', more)
      more()
    }
    await expect(read(answer)).rejects.toMatchObject(badAnswer)
  })
})
