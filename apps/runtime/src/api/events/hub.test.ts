import { RpcError, type StreamEnd, streamLimits, type TopicName } from '@selvedge/protocol'
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createSignals, type Signals } from '../../device/signals.ts'
import { createEventHub, type EventHub, type EventSink } from './hub.ts'
import { createLogChannel } from './log-channel.ts'
import type { Sources } from './sources.ts'
import { createStateChannel } from './state-channel.ts'

const owner = (sub = 'a', client_id = 'client') =>
  ({ account_id: 'account', client_id, sub, scope: 'openid edge:mcm edge:clusters' }) as AccessClaims

let values: Record<'clock' | 'notices', unknown>
let reads: number
let refused: RpcError | undefined
let writeLine: (line: object) => void
let closed: TopicName[]
let signals: Signals
let hub: EventHub

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'performance'],
  })
  values = { clock: 'held', notices: [] }
  reads = 0
  refused = undefined
  closed = []
  signals = createSignals()
  const state = (name: 'clock' | 'notices', signal: 'links' | 'notices') => ({
    signals: [signal],
    open: () =>
      createStateChannel(
        name,
        () => {
          reads++
          if (values[name] instanceof Error) throw values[name]
          return values[name]
        },
        () => closed.push(name),
      ),
  })
  const sources = {
    clock: state('clock', 'links'),
    notices: state('notices', 'notices'),
    logs: {
      isOfClient: true,
      signals: [],
      open: (_: AccessClaims, onChange: () => void) =>
        createLogChannel(
          'logs',
          {
            last: () => [],
            follow(onLine) {
              writeLine = onLine
              return () => closed.push('logs')
            },
          },
          onChange,
        ),
    },
  } as unknown as Sources
  hub = createEventHub({
    sources,
    signals,
    expectAllowed: () => {
      if (refused) throw refused
    },
  })
})
afterEach(() => {
  hub.close()
  vi.useRealTimers()
})

/** A reader that collects what it gets, while it is ready. */
function createSink(onSend: () => void = () => undefined) {
  const got: { topic: string; data: unknown; lost: number }[] = []
  const ends: StreamEnd[] = []
  const sink = {
    isReading: true,
    got,
    ends,
    isReady: () => sink.isReading,
    send({ topic, data }: { topic: string; data: string }, lost: number) {
      got.push({ topic, data: JSON.parse(data), lost })
      onSend()
      return true
    },
    end: (end: StreamEnd) => void ends.push(end),
  }
  return sink satisfies EventSink
}

function open(names: readonly TopicName[], sink = createSink(), of = owner()) {
  const stream = hub.open(of, names, sink)
  stream.flush()
  return { sink, stream }
}

const change = (value: unknown) => {
  values.clock = value
  signals.send('links')
  vi.advanceTimersByTime(100)
}

it('sends the current state first, and then each change', () => {
  const { sink } = open(['clock', 'notices', 'logs'])
  expect(sink.got.map(({ topic, data }) => [topic, data])).toEqual([
    ['clock', 'held'],
    ['notices', []],
    ['logs', []],
  ])
  change('trusted')
  writeLine({ text: 'one' })
  writeLine({ text: 'two' })
  vi.advanceTimersByTime(100)
  expect(sink.got.slice(3)).toEqual([
    { topic: 'clock', data: 'trusted', lost: 0 },
    { topic: 'logs', data: [{ text: 'one' }, { text: 'two' }], lost: 0 },
  ])
})

it('sends nothing for a signal without a change, and finds a change without a signal within a second', () => {
  const { sink } = open(['clock'])
  signals.send('links')
  vi.advanceTimersByTime(500)
  expect(sink.got).toHaveLength(1)
  values.clock = 'unknown'
  vi.advanceTimersByTime(1100)
  expect(sink.got.at(-1)).toMatchObject({ data: 'unknown', lost: 0 })
})

it('sends the newest state to a reader that was not ready, with the number of states it lost', () => {
  const { sink } = open(['clock'])
  sink.isReading = false
  for (let at = 0; at < 5; at++) change(at)
  expect(sink.got).toHaveLength(1)
  sink.isReading = true
  vi.advanceTimersByTime(200)
  expect(sink.got.slice(1)).toEqual([{ topic: 'clock', data: 4, lost: 4 }])
})

it('stores a bounded number of lines for readers that are not ready, and counts what each lost', () => {
  const { sink } = open(['logs'])
  const other = open(['logs'])
  sink.isReading = false
  for (let at = 0; at < 5000; at++) {
    writeLine({ at })
    if (at % 100 === 0) vi.advanceTimersByTime(100)
  }
  vi.advanceTimersByTime(200)
  sink.isReading = true
  vi.advanceTimersByTime(200)
  const linesOf = (of: typeof sink) =>
    of.got.flatMap(({ data }) => (data as { at: number }[]).map(({ at }) => at))
  expect(linesOf(other.sink)).toEqual(Array.from({ length: 5000 }, (_, at) => at))
  expect(linesOf(sink)).toEqual(Array.from({ length: 2000 }, (_, at) => at + 3000))
  expect(sink.got.find(({ lost }) => lost > 0)?.lost).toBe(3000)
})

it('sends states before lines, so that a flood of lines does not hold them up', () => {
  const { sink } = open(['logs', 'clock'])
  sink.isReading = false
  for (let at = 0; at < 100; at++) writeLine({ at })
  change('unknown')
  sink.isReading = true
  vi.advanceTimersByTime(200)
  expect(sink.got.slice(2).map(({ topic }) => topic)).toEqual(['clock', 'logs'])
})

it('reads a state once for all its readers', () => {
  for (let at = 0; at < 20; at++) open(['clock'])
  reads = 0
  change('unknown')
  expect(reads).toBe(1)
})

it('ends only the stream of a reader that throws', () => {
  const broken = createSink(() => {
    if (broken.got.length > 1) throw new Error('broken')
  })
  open(['clock'], broken)
  const { sink } = open(['clock'])
  change('unknown')
  change('trusted')
  expect(sink.got.map(({ data }) => data)).toEqual(['held', 'unknown', 'trusted'])
  expect(broken.ends).toMatchObject([{ reason: 'internal_error' }])
  expect(broken.got).toHaveLength(2)
})

it('serves the other topics when a source throws, and reads it again', () => {
  const { sink } = open(['clock', 'notices'])
  values.clock = new Error('broken')
  values.notices = ['new']
  signals.send('links')
  signals.send('notices')
  vi.advanceTimersByTime(200)
  expect(sink.got.at(-1)).toMatchObject({ topic: 'notices', data: ['new'] })
  values.clock = 'trusted'
  vi.advanceTimersByTime(1200)
  expect(sink.got.at(-1)).toMatchObject({ topic: 'clock', data: 'trusted' })
})

it('writes nothing more to a reader that leaves while it is written to', () => {
  let leave = (): void => undefined
  const leaving = createSink(() => leave())
  const { stream } = open(['clock', 'notices', 'logs'], leaving)
  leave = stream.close
  const { sink } = open(['clock'])
  values.notices = ['new']
  signals.send('notices')
  change('unknown')
  expect(leaving.got).toHaveLength(4)
  expect(leaving.ends).toEqual([])
  expect(sink.got).toHaveLength(2)
})

it('sends nothing that changed after the caller lost its access', () => {
  const { sink } = open(['clock'])
  values.clock = 'secret of the next owner'
  refused = new RpcError('token_revoked', 'the token was revoked')
  signals.send('links')
  vi.advanceTimersByTime(200)
  expect(sink.got).toHaveLength(1)
  expect(sink.ends).toEqual([{ reason: 'token_revoked', detail: 'the token was revoked' }])
  vi.advanceTimersByTime(5000)
  expect(sink.ends).toHaveLength(1)
})

it('limits the streams of a caller and of all, and counts each only while it is open', () => {
  const own = Array.from({ length: streamLimits.ofCaller }, () => open(['clock']))
  expect(() => open(['clock'])).toThrow(expect.objectContaining({ reason: 'limit_exceeded' }))
  expect(() => open(['clock'], createSink(), owner('a', 'other'))).not.toThrow()
  own[0]!.stream.close()
  own[0]!.stream.close()
  open(['clock'])
  expect(() => open(['clock'])).toThrow(expect.objectContaining({ reason: 'limit_exceeded' }))
  for (let at = streamLimits.ofCaller + 1; at < streamLimits.all; at++)
    open(['clock'], createSink(), owner(`${at}`))
  expect(() => open(['clock'], createSink(), owner('last'))).toThrow(
    expect.objectContaining({ reason: 'busy' }),
  )
})

it('counts no stream of a source that cannot be opened', () => {
  values.clock = new Error('broken')
  for (let at = 0; at < streamLimits.ofCaller + 1; at++)
    expect(() => open(['notices', 'clock'])).toThrow('broken')
  values.clock = 'held'
  expect(open(['clock']).sink.got).toHaveLength(1)
})

it('closes the source of a topic with its last stream, and follows nothing then', () => {
  const first = open(['clock', 'logs'])
  const second = open(['clock'])
  first.stream.close()
  expect(closed).toEqual(['logs'])
  second.stream.close()
  expect(closed).toEqual(['logs', 'clock'])
  expect(vi.getTimerCount()).toBe(0)
})

it('ends all streams when the runtime stops, and accepts no more', () => {
  const { sink } = open(['clock'])
  hub.close()
  expect(sink.ends).toEqual([{ reason: 'stopping', detail: 'the runtime stops' }])
  expect(() => open(['clock'])).toThrow(expect.objectContaining({ reason: 'busy' }))
  reads = 0
  change('unknown')
  expect([reads, vi.getTimerCount()]).toEqual([0, 0])
})

it.each<[TopicName, string]>([
  ['logs', 'edge:mcm'],
  ['containers', 'edge:mcm'],
  ['nodes', 'edge:clusters'],
])('a token without the scope of the topic %s (%s) follows nothing of it', (name, scope) => {
  const scopes = 'openid edge:mcm edge:clusters'.split(' ').filter((each) => each !== scope)
  const caller = { ...owner(), scope: scopes.join(' ') }
  for (const names of [[name], ['clock', name]] as const)
    expect(() => open(names, createSink(), caller)).toThrow(
      expect.objectContaining({ reason: 'insufficient_scope' }),
    )
  expect(open(['clock'], createSink(), caller).sink.got).toHaveLength(1)
})

it('sends a sign of life every 15 seconds to those that want one, while a stream is open', () => {
  let beats = 0
  const first = open(['clock'])
  open(['clock'], { ...createSink(), beat: () => void beats++ } as never)
  first.stream.close()
  vi.advanceTimersByTime(14_999)
  expect(beats).toBe(0)
  open(['clock'])
  vi.advanceTimersByTime(1)
  expect(beats).toBe(1)
  vi.advanceTimersByTime(15_000)
  expect(beats).toBe(2)
})

it('closes from this side with a reason, once', () => {
  const { sink, stream } = open(['clock'])
  stream.end(new RpcError('token_expired', 'it expired'))
  stream.end(new RpcError('token_revoked', 'it was revoked'))
  expect(sink.ends).toEqual([{ reason: 'token_expired', detail: 'it expired' }])
})

it('ends with an internal error when its caller cannot be checked', () => {
  const { sink } = open(['clock'])
  refused = new TypeError('a defect') as never
  change('unknown')
  expect(sink.got).toHaveLength(1)
  expect(sink.ends).toEqual([{ reason: 'internal_error', detail: 'the stream failed' }])
})
