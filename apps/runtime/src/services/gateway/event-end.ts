/** The last event of a stream of server-sent events after its caller lost access (HTML Living Standard § 9.2). */
import type { RpcError } from '@selvedge/protocol'

interface EventEnd {
  /** @param headers of the answer: names and values in turn */
  begin(headers: readonly string[]): void
  follow(part: Buffer): void
  /** An event with the reason; undefined for an answer that has no events, or in the middle of one. */
  lastEvent(cause: RpcError): string | undefined
}

export function createEventEnd(): EventEnd {
  let hasEvents = false
  let tail = ''
  return {
    begin(headers) {
      hasEvents = headers.some(
        (name, at) =>
          at % 2 === 0 &&
          name.toLowerCase() === 'content-type' &&
          headers[at + 1]!.toLowerCase().startsWith('text/event-stream'),
      )
    },
    follow(part) {
      if (hasEvents) tail = (tail + part.toString('latin1', Math.max(0, part.length - 4))).slice(-4)
    },
    lastEvent({ reason, message }) {
      const isBetween = ['', '\n\n', '\r\r', '\r\n\r\n'].some((end) =>
        end === '' ? tail === '' : tail.endsWith(end),
      )
      if (!hasEvents || !isBetween) return undefined
      return `event: selvedge-end\ndata: ${JSON.stringify({ reason, message })}\n\n`
    },
  }
}
