/**
 * Sends events to streams. Features only signal that something changed; it is read and written once for all readers of the same,
 * and each reader gets it when it is ready. A reader that is not ready holds nothing but its place.
 */
import { RpcError, type StreamEnd, type TopicName, topicNames, topics } from '@selvedge/protocol'
import { type AccessClaims, hasScope } from '@selvedge/protocol/tokens'
import { safely } from '@selvedge/service-kit/safely'
import type { Signals } from '../../device/signals.ts'
import type { SharedEvent } from './channel.ts'
import { createDelivery } from './delivery.ts'
import { createRooms, type Room } from './rooms.ts'
import type { Sources } from './sources.ts'
import { createStreamBudget } from './stream-budget.ts'

/** The way to one reader. */
export interface EventSink {
  /** Whether the reader has read what was sent, but for a bounded rest. */
  isReady(): boolean
  /** @param lost events of the topic that the reader was too slow for @returns false if it was not sent */
  send(event: SharedEvent, lost: number): boolean
  /** Sends a sign of life, if the transport has no other. */
  beat?(): void
  /** Sends why the stream ends, and ends it. */
  end(end: StreamEnd): void
}

/** A stream as its transport sees it. */
interface EventStream {
  /** To be called when the reader is ready again, and to send the first events. */
  flush(): void
  /** Ends the stream from this side. */
  end(cause: RpcError): void
  /** To be called when the reader left. */
  close(): void
}

export interface EventHub {
  /** @throws RpcError `insufficient_scope`, `limit_exceeded`, `busy` */
  open(owner: AccessClaims, names: readonly TopicName[], sink: EventSink): EventStream
  /** Ends all streams. */
  close(): void
}

export interface HubParts {
  readonly sources: Sources
  readonly signals: Signals
  /** Checks that a caller may still follow its topics. @throws RpcError */
  readonly expectAllowed: (owner: AccessClaims) => void
}

interface Stream {
  readonly owner: AccessClaims
  readonly sink: EventSink
  readonly giveBack: () => void
  /** The number of the last event of each channel; undefined before the first one. */
  readonly read: Map<Room<Stream>, number | undefined>
}

/** Milliseconds after which everything is read again: clocks, ages and health change without a signal. */
const refreshMs = 1000
const refreshesPerBeat = 15

export function createEventHub({ sources, signals, expectAllowed }: HubParts): EventHub {
  const streams = new Set<Stream>()
  const budget = createStreamBudget()
  let isClosed = false
  const rooms = createRooms<Stream>(sources, signals)
  const refreshing = createRefreshing(rooms.markAll, () => {
    for (const { sink } of streams) beat(sink)
  })
  const delivery = createDelivery<Stream>({
    collect: rooms.refresh,
    write,
    fail: (stream) => end(stream, new RpcError('internal_error', 'the stream failed')),
  })
  rooms.onNews(delivery.schedule)

  /** @returns whether it was open until now */
  function remove(stream: Stream): boolean {
    if (!streams.delete(stream)) return false
    delivery.remove(stream)
    stream.giveBack()
    for (const room of stream.read.keys()) rooms.leave(stream, room)
    if (streams.size === 0) refreshing.stop()
    return true
  }

  function end(stream: Stream, { reason, message }: Pick<RpcError, 'message'> & { reason: string }): void {
    if (remove(stream)) safely('events.end', stream.sink.end)({ reason, detail: message })
  }

  /** The caller is checked before each event: what it may not see any more is never sent. */
  function write(stream: Stream): boolean {
    try {
      if (streams.has(stream)) expectAllowed(stream.owner)
    } catch (cause) {
      if (!(cause instanceof RpcError)) throw cause
      end(stream, cause)
    }
    for (const room of stream.read.keys())
      while (streams.has(stream)) {
        const next = room.channel.next(stream.read.get(room))
        if (!next) break
        if (!stream.sink.isReady() || !stream.sink.send(next.event, next.lost)) return false
        stream.read.set(room, next.event.number)
      }
    return true
  }

  return {
    open(owner, names, sink) {
      if (isClosed) throw new RpcError('busy', 'the runtime stops')
      expectScopes(owner, names)
      const stream: Stream = { owner, sink, giveBack: budget.take(owner), read: new Map() }
      streams.add(stream)
      if (streams.size === 1) refreshing.start()
      try {
        for (const name of inOrder(names)) stream.read.set(rooms.enter(stream, owner, name), undefined)
      } catch (cause) {
        remove(stream)
        throw cause
      }
      return {
        flush: () => delivery.flush(stream),
        end: (cause) => end(stream, cause),
        close() {
          remove(stream)
        },
      }
    },
    close() {
      isClosed = true
      rooms.close()
      delivery.close()
      for (const stream of streams) end(stream, { reason: 'stopping', message: 'the runtime stops' })
    },
  }
}

const beat = safely('events.beat', (sink: EventSink) => sink.beat?.())

/** Calls `refresh` every second, and `beatAll` every 15 seconds. */
function createRefreshing(refresh: () => void, beatAll: () => void) {
  let timer: NodeJS.Timeout | undefined
  let count = 0
  const onTick = safely('events.refresh', () => {
    refresh()
    if (++count % refreshesPerBeat === 0) beatAll()
  })
  return {
    start() {
      timer = setInterval(onTick, refreshMs).unref()
    },
    stop: () => clearInterval(timer),
  }
}

/** @throws RpcError `insufficient_scope` */
function expectScopes(owner: AccessClaims, names: readonly TopicName[]): void {
  for (const name of names) {
    const { scope } = topics[name].access as { readonly scope?: string }
    if (scope !== undefined && !hasScope(owner.scope, scope))
      throw new RpcError(
        'insufficient_scope',
        `the topic ${name} needs the scope ${scope}; the token has ${owner.scope}`,
      )
  }
}

/** States first, whatever the order of the caller: a flood of lines does not hold up a state. */
const inOrder = (names: readonly TopicName[]): readonly TopicName[] => {
  const states = topicNames.filter((name) => name !== 'logs' && names.includes(name))
  return names.includes('logs') ? [...states, 'logs'] : states
}
