import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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
  await expect.poll(() => socket.closed).toBe(true)
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
  socket.resume()
  await app.close()
  expect(ends).toBe(1)
  await expect.poll(() => socket.readableEnded).toBe(true)
  // The last chunk: the connection was not cut off.
  expect(received).toMatch(/0\r\n\r\n$/)
})

describe('what a reader gets, and when', () => {
  let raw: ReturnType<typeof createRaw>
  let streams: Set<EventStream>
  let timeouts: unknown[]
  let over: number

  /** As much of a response as a stream uses, with what happened to it in order. */
  function createRaw() {
    const log: string[] = []
    return Object.assign(new EventEmitter(), {
      ...{ log, head: {} as unknown, writableLength: 0, writableEnded: false, destroyed: false },
      writeHead(status: number, headers: object) {
        this.head = { status, ...headers }
      },
      write: (text: string) => void log.push(text),
      end() {
        this.writableEnded = true
        log.push('(end)')
      },
      destroy() {
        this.destroyed = true
        log.push('(destroyed)')
      },
    })
  }
  const begin = () => {
    const request = {
      server: { eventStreams: streams },
      raw: { rawHeaders: [], headers: {}, setTimeout: (ms: unknown) => timeouts.push(ms) },
    }
    const reply = { raw, hijack: () => raw.log.push('(hijacked)') }
    return openEventStream(request as never, reply as never, () => {
      over++
    })
  }
  beforeEach(() => {
    vi.useFakeTimers()
    raw = createRaw()
    streams = new Set()
    timeouts = []
    over = 0
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const beginning = ['(hijacked)', ': welcome\n\n']

  it('a head for a stream, a first line, and each event', () => {
    const events = begin()
    events.send({ a: 1 })
    expect(raw.log).toEqual([...beginning, 'data: {"a":1}\n\n'])
    expect(raw.head).toEqual({
      status: 200,
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Accel-Buffering': 'no',
      'X-Request-Id': expect.any(String),
    })
    expect(timeouts).toEqual([0])
  })

  it('a sign of life each 15 seconds, until the end', () => {
    const events = begin()
    vi.advanceTimersByTime(14_999)
    expect(raw.log).toEqual(beginning)
    vi.advanceTimersByTime(15_001)
    expect(raw.log).toEqual([...beginning, ...Array(2).fill(': still here\n\n')])
    events.end()
    vi.advanceTimersByTime(4999)
    expect(vi.getTimerCount()).toBe(1)
    expect(raw.log.at(-1)).toBe('(end)')
    vi.advanceTimersByTime(1)
    expect(raw.log.at(-1)).toBe('(destroyed)')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('the reason of the end, once', () => {
    const events = begin()
    events.end({ reason: 'busy', detail: 'too much' })
    expect(raw.log.slice(2)).toEqual(['event: end\ndata: {"reason":"busy","detail":"too much"}\n\n', '(end)'])
    expect(over).toBe(1)
    events.send({ late: true })
    expect(raw.log).toHaveLength(4)
    raw.emit('close')
    expect(over).toBe(1)
  })

  it.each(['writableEnded', 'destroyed'] as const)('nothing after the connection is %s', (state) => {
    const events = begin()
    raw[state] = true
    events.send({ late: true })
    expect(raw.log).toEqual(beginning)
  })

  it('nothing more while more than 256 KiB wait: its connection is closed', () => {
    const events = begin()
    raw.writableLength = 262_144
    events.send({ a: 1 })
    expect(raw.log.at(-1)).toBe('data: {"a":1}\n\n')
    raw.writableLength++
    events.send({ a: 2 })
    expect(raw.log.slice(2)).toEqual(['data: {"a":1}\n\n', '(destroyed)'])
  })

  it('a failure of its connection closes it', () => {
    begin()
    raw.emit('error', new Error('reset'))
    expect(raw.log.at(-1)).toBe('(destroyed)')
  })

  it('its stream is one of the app until the connection closes', () => {
    const events = begin()
    expect([...streams]).toEqual([events])
    raw.emit('close')
    expect([streams.size, over]).toEqual([0, 1])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a reader that left before gets nothing, and its stream is over', () => {
    raw.destroyed = true
    begin()
    expect([streams.size, over]).toEqual([0, 0])
    vi.advanceTimersByTime(0)
    expect(over).toBe(1)
    expect(raw.log).toEqual(['(hijacked)'])
  })

  it('a reader that is there has a stream that continues', () => {
    begin()
    vi.advanceTimersByTime(1000)
    expect(over).toBe(0)
  })
})
