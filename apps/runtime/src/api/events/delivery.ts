/**
 * When streams are written to: at once after a change, then at most every 100 ms, some streams a turn of the event loop. So neither
 * many changes nor many readers hold up the calls of others.
 */
import { safely } from '@selvedge/service-kit/safely'

export interface Delivery<Stream> {
  /** Something changed. */
  schedule(): void
  /** Writes to a stream now. */
  flush(stream: Stream): void
  /** To be called when a stream is removed. */
  remove(stream: Stream): void
  close(): void
}

export interface DeliveryParts<Stream> {
  /** Reads what changed. @returns the streams that have to be written to */
  readonly collect: () => Iterable<Stream>
  /** Writes all that a stream has not read yet. @returns false if its reader is not ready for the rest */
  readonly write: (stream: Stream) => boolean
  /** Ends a stream that could not be written to. */
  readonly fail: (stream: Stream) => void
}

/** Milliseconds from one round to the next: changes in between come together. */
const roundMs = 100
/** Streams that are written to before others get their turn of the event loop. */
const streamsPerTurn = 50

export function createDelivery<Stream>({ collect, write, fail }: DeliveryParts<Stream>): Delivery<Stream> {
  const due = new Set<Stream>()
  /** Streams with a reader that was not ready. */
  const blocked = new Set<Stream>()
  let round: NodeJS.Timeout | undefined
  let nextRoundAt = 0

  const flush = safely(
    'events.write',
    (stream: Stream) => {
      if (write(stream)) blocked.delete(stream)
      else blocked.add(stream)
    },
    (_cause, stream) => fail(stream),
  )

  function schedule(): void {
    round ??= setTimeout(runRound, Math.max(0, nextRoundAt - performance.now()))
  }

  function deliver(): void {
    let left = streamsPerTurn
    for (const stream of due) {
      if (left-- === 0) {
        setImmediate(deliverSafely)
        return
      }
      due.delete(stream)
      flush(stream)
    }
    if (blocked.size > 0) schedule()
  }
  const deliverSafely = safely('events.deliver', deliver)

  const runRound = safely('events.round', () => {
    round = undefined
    nextRoundAt = performance.now() + roundMs
    const isIdle = due.size === 0
    for (const stream of collect()) due.add(stream)
    for (const stream of blocked) due.add(stream)
    if (isIdle) deliver()
  })

  return {
    schedule,
    flush,
    remove(stream) {
      due.delete(stream)
      blocked.delete(stream)
    },
    close: () => clearTimeout(round),
  }
}
