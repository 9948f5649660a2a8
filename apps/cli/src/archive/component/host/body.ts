/** The body of a response or of a request that a component sends: a queue between its output stream and the reader. */
import { IoError, type StreamError } from './failure.ts'
import { maxBufferedBytes, type Sink } from './io.ts'

export interface OutgoingQueue extends Sink {
  readonly stream: ReadableStream<Uint8Array>
  /** The body is complete. @throws Error if fewer bytes were written than announced */
  finish(): void
  /** The body is incomplete: its reader gets an error. */
  abandon(why: string): void
  /** Resolves when nothing of the body is left to be sent: complete, cancelled or incomplete. */
  readonly settled: Promise<void>
}

/** A promise that each `change` resolves, and replaces. */
function createChange() {
  let current = Promise.withResolvers<void>()
  return {
    next: () => current.promise,
    announce() {
      current.resolve()
      current = Promise.withResolvers()
    },
  }
}

/** @param announced bytes of the body, as its content-length has them */
export function createQueue(announced: () => number | undefined): OutgoingQueue {
  const chunks: Uint8Array[] = []
  const change = createChange()
  const settled = Promise.withResolvers<void>()
  let buffered = 0
  let written = 0
  let end: StreamError | undefined
  let isFinished = false
  let controller: ReadableStreamDefaultController<Uint8Array>

  const close = (how: StreamError) => {
    end ??= how
    settled.resolve()
    change.announce()
  }
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (own) => void (controller = own),
      async pull() {
        while (chunks.length === 0 && !end && !isFinished) await change.next()
        const chunk = chunks.shift()
        if (chunk) {
          buffered -= chunk.length
          controller.enqueue(chunk)
        }
        if (chunks.length === 0 && isFinished && !end) {
          controller.close()
          close({ tag: 'closed' })
        }
        change.announce()
      },
      // Its reader has left.
      cancel: () => close({ tag: 'closed' }),
    },
    { highWaterMark: 0 },
  )
  return {
    stream,
    settled: settled.promise,
    capacity: () => maxBufferedBytes - buffered,
    whenCapacity: change.next,
    whenFlushed: change.next,
    isFlushed: () => buffered === 0,
    end: () => end,
    write(bytes) {
      const limit = announced()
      if (limit !== undefined && written + bytes.length > limit)
        throw new Error(`the body has more than the ${limit} bytes of its content-length`)
      written += bytes.length
      buffered += bytes.length
      chunks.push(bytes)
      change.announce()
    },
    finish() {
      const limit = announced()
      if (limit !== undefined && written < limit) {
        this.abandon(`the body has ${written} bytes, and its content-length is ${limit}`)
        throw new Error('the body is shorter than its content-length')
      }
      isFinished = true
      change.announce()
    },
    abandon(why) {
      if (end || isFinished) return
      controller.error(new Error(why))
      close({ tag: 'last-operation-failed', val: new IoError(new Error(why)) })
    },
  }
}
