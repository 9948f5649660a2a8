import type { FastifyReply, FastifyRequest } from 'fastify'

/** Server-sent events to one reader (HTML Standard § 9.2). */
export interface EventStream {
  send(data: object): void
  /** Ends the stream from this side. */
  end(): void
}

/** Milliseconds between two signs of life, which also find out that a reader is gone. */
const heartbeat = 15_000
/** Bytes that may wait for a reader; beyond it the reader is let go, and comes back when it can. */
const maxWaiting = 256 * 1024

/** Turns a request into a stream of events. @param onEnd called once, when the reader is gone or the stream was ended */
export function openEventStream(
  request: FastifyRequest,
  reply: FastifyReply,
  onEnd: () => void,
): EventStream {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Accel-Buffering': 'no',
  })
  raw.write(': welcome\n\n')
  request.raw.setTimeout(0)
  const write = (text: string) => {
    if (raw.writableLength > maxWaiting) raw.destroy()
    else raw.write(text)
  }
  const beat = setInterval(() => write(': still here\n\n'), heartbeat)
  beat.unref()
  raw.once('close', () => {
    clearInterval(beat)
    onEnd()
  })
  return { send: (data) => write(`data: ${JSON.stringify(data)}\n\n`), end: () => raw.end() }
}
