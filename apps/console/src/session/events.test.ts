/** The stream of a page: what it hands on, and when it connects again. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { signedOut } from '../api.ts'
import { followEvents } from './events.ts'
import { signedFetch } from './request.ts'

vi.mock('./request.ts', () => ({ signedFetch: vi.fn() }))
vi.mock('../api.ts', () => ({ signedOut: 'signed-out' }))

let connections: {
  path: string
  signal: AbortSignal
  accept: unknown
  send(text: string): void
  end(): void
  fail(): void
}[]
let answer: (body: ReadableStream) => Response | Promise<Response>
let log: string[]
let stop: () => void
let signedOuts: number
let random: number
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  connections = []
  log = []
  signedOuts = 0
  random = 1
  answer = (body) => new Response(body)
  vi.spyOn(Math, 'random').mockImplementation(() => random)
  vi.stubGlobal('dispatchEvent', ({ type }: Event) => {
    if (type === signedOut) signedOuts++
    return true
  })
  vi.mocked(signedFetch).mockImplementation(async (path, init) => {
    let controller!: ReadableStreamDefaultController
    const body = new ReadableStream({
      start(each) {
        controller = each
      },
    })
    const signal = init!.signal!
    signal.addEventListener('abort', () => controller.error(signal.reason))
    connections.push({
      ...{ path, signal, accept: init!.headers!.Accept, end: () => controller.close() },
      fail: () => controller.error(new Error('broken off')),
      send: (text) => controller.enqueue(new TextEncoder().encode(text)),
    })
    return answer(body)
  })
})
afterEach(() => {
  stop()
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const follow = async () => {
  stop = followEvents('/events', {
    opened: () => log.push('opened'),
    lost: () => log.push('lost'),
    received: (data) => log.push(data),
  })
  await settled()
}
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
const pass = async (ms: number) => {
  vi.advanceTimersByTime(ms)
  await settled()
}

it('hands on the data of each event, in whatever pieces it comes', async () => {
  await follow()
  const [{ send, path, accept }] = connections as [(typeof connections)[0]]
  expect([path, accept]).toEqual(['/events', 'text/event-stream'])
  send('data: on')
  await settled()
  send('e\n\n: a comment\n\ndata: two\n\nevent: x\n\n')
  await settled()
  expect(log).toEqual(['opened', 'one', 'two'])
})

it('connects again when the stream ends, after half a second or more', async () => {
  random = 0
  await follow()
  connections[0]!.end()
  await settled()
  expect(log).toEqual(['opened', 'lost'])
  await pass(499)
  expect(connections).toHaveLength(1)
  await pass(1)
  expect([connections.length, log]).toEqual([2, ['opened', 'lost', 'opened']])
})

it('waits longer after each failure, up to half a minute, and briefly after a connection that was open', async () => {
  answer = () => new Response('', { status: 503 })
  await follow()
  for (const seconds of [1, 2, 4, 8, 16, 30]) {
    const before = connections.length
    await pass(seconds * 1000 - 1)
    expect(connections).toHaveLength(before)
    if (seconds === 30) answer = (body) => new Response(body)
    await pass(1)
    expect(connections).toHaveLength(before + 1)
  }
  connections.at(-1)!.end()
  await settled()
  // The next pause doubles the first one.
  await pass(1000)
  expect(connections).toHaveLength(8)
  expect(log).toEqual([...Array(6).fill('lost'), 'opened', 'lost', 'opened'])
})

it('a connection that breaks after it was open is followed by a short pause, one that fails by a longer', async () => {
  answer = () => Promise.reject(new Error('offline'))
  await follow()
  await pass(1000)
  answer = (body) => new Response(body)
  await pass(1999)
  expect(connections).toHaveLength(2)
  await pass(1)
  connections[2]!.fail()
  await settled()
  await pass(1000)
  expect(connections).toHaveLength(4)
})

it.each([
  [401, 1],
  [403, 0],
  [503, 0],
])('an answer of %i is no stream, and signs out: %i', async (status, expected) => {
  answer = (body) => new Response(body, { status })
  await follow()
  expect([log, signedOuts]).toEqual([['lost'], expected])
  // That of the next connection.
  expect(vi.getTimerCount()).toBe(1)
})

it('an answer without a body, and no answer, are no streams', async () => {
  answer = () => new Response(null)
  await follow()
  answer = () => Promise.reject(new Error('offline'))
  await pass(1000)
  expect([connections.length, log]).toEqual([2, ['lost', 'lost']])
})

it('a connection without a byte for 45 seconds is dead', async () => {
  await follow()
  await pass(45_000)
  await pass(1000)
  expect([connections.map(({ signal }) => signal.aborted), log]).toEqual([
    [true, false],
    ['opened', 'lost', 'opened'],
  ])
  log = []
  await pass(44_999)
  connections[1]!.send(': alive\n\n')
  await settled()
  await pass(44_999)
  expect(log).toEqual([])
  await pass(1)
  expect([connections[1]!.signal.aborted, log]).toEqual([true, ['lost']])
})

it('stops when the page leaves: nothing is handed on, and nothing connects again', async () => {
  await follow()
  stop()
  await settled()
  expect([connections[0]!.signal.aborted, vi.getTimerCount()]).toEqual([true, 0])
  await pass(60_000)
  expect([connections.length, log]).toEqual([1, ['opened']])
})
