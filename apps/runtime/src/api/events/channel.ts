/** The events of one topic for the callers that see the same of it. They are stored once, however many readers there are. */
import type { TopicName } from '@selvedge/protocol'

/** An event, shared by its readers. */
export interface SharedEvent {
  readonly topic: TopicName
  /** Number in its channel. The reader of this event has all up to it. */
  readonly number: number
  /** The data as JSON text. */
  readonly data: string
}

interface NextEvent {
  readonly event: SharedEvent
  /** Events between the last one of the reader and this one, which are not stored any more. */
  readonly lost: number
}

export interface Channel {
  /** Reads the source again. May throw what the source throws. */
  refresh(): void
  /**
   * The next event of a reader.
   *
   * @param number of its last event; undefined: the reader is new, and gets the current state
   * @returns undefined if there is nothing new
   */
  next(number: number | undefined): NextEvent | undefined
  close(): void
}
