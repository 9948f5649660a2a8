/** Requests with a body that is declared large. The limits of connections and of slow bodies treat them differently. */
import type { IncomingMessage } from 'node:http'

/** A member of the request: a WeakSet of them cost 1.5 µs a request. */
const large = Symbol('large body')

interface Marked extends IncomingMessage {
  [large]?: true
}

/**
 * Declares that the body of a request may be large: it may take longer than `bodySeconds`, as long as it brings 1,024 bytes per
 * second. For uploads and for requests to services.
 */
export function allowLargeBody(request: Marked): void {
  request[large] = true
}

/** Whether the body of a request was declared large. */
export const isLarge = (request: Marked): boolean => request[large] === true
