import type { FastifyReply, FastifyRequest } from 'fastify'
import { requestIdOf } from '../http/request-id.ts'
import { safely } from '../safely/safely.ts'

/** Server-sent events to one reader (HTML Standard § 9.2). */
export interface EventStream {
  /** Sends an event. Nothing happens after the end. */
  send(data: object): void
  /**
   * Ends the stream from this side; `onEnd` has been called when this returns.
   *
   * @param reason sent before as the event `end`: a word of the error catalogue, and why
   */
  end(reason?: { readonly reason: string; readonly detail: string }): void
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Streams that are open: they end when the app closes, since their readers would not. */
    readonly eventStreams: Set<EventStream>
  }
}

/** Milliseconds between two signs of life, which also find out that a reader is gone. */
const heartbeatMs = 15_000
/** Bytes that may wait for a reader; beyond it the connection is closed, and the reader connects again when it can. */
const maxWaiting = 256 * 1024
/** Milliseconds for a reader to take the last bytes after the end. */
const lastBytesMs = 5000

/**
 * Turns a request of an app of {@link createHttpApp} into a stream of events. It ends when the app closes.
 *
 * @param onEnd called once, when the reader disconnected or the stream was closed
 */
export function openEventStream(
  request: FastifyRequest,
  reply: FastifyReply,
  onEnd: () => void,
): EventStream {
  reply.hijack()
  const { raw } = reply
  const { eventStreams } = request.server
  let isOver = false
  const finish = safely('eventStream.end', () => {
    if (isOver) return
    isOver = true
    clearInterval(beat)
    onEnd()
  })
  const write = (text: string) => {
    if (isOver || raw.writableEnded || raw.destroyed) return
    if (raw.writableLength > maxWaiting) raw.destroy()
    else raw.write(text)
  }
  const beat = setInterval(
    safely('eventStream.beat', () => write(': still here\n\n')),
    heartbeatMs,
  )
  beat.unref()
  raw.once('close', finish)
  raw.on('error', () => raw.destroy())
  raw.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Accel-Buffering': 'no',
    'X-Request-Id': requestIdOf(request.raw),
  })
  write(': welcome\n\n')
  // A reader that left before: its "close" has been.
  if (raw.destroyed) setImmediate(finish)
  request.raw.setTimeout(0)
  const stream: EventStream = {
    send: (data) => write(`data: ${JSON.stringify(data)}\n\n`),
    end(reason) {
      if (reason) write(`event: end\ndata: ${JSON.stringify(reason)}\n\n`)
      finish()
      raw.end()
      // A reader that does not read would hold the connection for ever.
      setTimeout(() => raw.destroy(), lastBytesMs).unref()
    },
  }
  if (!raw.destroyed) {
    eventStreams.add(stream)
    raw.once('close', () => eventStreams.delete(stream))
  }
  return stream
}
