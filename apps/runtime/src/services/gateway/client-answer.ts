/** The answer to the client of a request: what a service sent, or a refusal. */
import type { ServerResponse } from 'node:http'
import type { RpcError } from '@selvedge/protocol'
import { createEventEnd } from './event-end.ts'
import { type AnswerFacts, responseHeaders, trailersFor } from './headers.ts'
import { maxJoinedBytes } from './joined-writes.ts'
import { type HttpRefusal, refusalOf, sendRefusal } from './refusal.ts'
import type { ResponseHead } from './response-head.ts'

/** Time to send the last event of a stream: its reader may have stopped reading. */
const lastEventMs = 2000

/** Where an answer comes from. */
export interface Pausable {
  pause(): void
  resume(): void
}

export interface ClientFacts extends AnswerFacts {
  /** Whether the client reads trailers. */
  readonly wantsTrailers: boolean
}

export class ClientAnswer {
  readonly #response: ServerResponse
  readonly #upstream: Pausable
  readonly #facts: ClientFacts
  readonly #events = createEventEnd()
  #head: ResponseHead | undefined
  #hasBegun = false
  #isPaused = false

  /**
   * @param upstream is paused while the client does not read
   * @param facts what the headers of the answer depend on
   */
  constructor(response: ServerResponse, upstream: Pausable, facts: ClientFacts) {
    this.#response = response
    this.#upstream = upstream
    this.#facts = facts
  }

  /** Whether a part of the answer of the service was sent. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Sets status and headers. They are sent with the first part: if that is malformed, the client gets a refusal. */
  setHead(head: ResponseHead): void {
    this.#head = head
    this.#events.begin(head.headers)
  }

  /** Sends status and headers before the first part of the body. */
  begin(): void {
    this.#writeHead()
    this.#response.flushHeaders()
  }

  /** Sets the trailers, to be sent after the last part, if the client reads them. */
  setTrailers(trailers: readonly string[]): void {
    if (!this.#facts.wantsTrailers) return
    this.#writeHead()
    this.#response.addTrailers(trailersFor(trailers, this.#facts))
  }

  #writeHead(): void {
    const head = this.#head
    if (!head || this.#hasBegun) return
    this.#response.writeHead(head.status, head.message, responseHeaders(head.headers, this.#facts))
    this.#hasBegun = true
  }

  /** @param isLast nothing follows this part */
  send(part: Buffer, isLast: boolean): void {
    const response = this.#response
    this.#writeHead()
    this.#events.follow(part)
    // As text with one byte a character: Node sends text in the same system call as the headers.
    if (isLast) response.end(part.length <= maxJoinedBytes ? part.toString('latin1') : part, 'latin1')
    else if (!response.write(part) && !this.#isPaused) {
      this.#isPaused = true
      this.#upstream.pause()
      response.once('drain', this.resume)
    }
  }

  /** Ends the pause of the service: a connection that stays paused could not read the answer to its next request. */
  readonly resume = (): void => {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#response.off('drain', this.resume)
    this.#upstream.resume()
  }

  /** Refuses the request. An answer that has begun is cut off instead, so that it does not look complete. */
  refuse(refusal: HttpRefusal): void {
    const response = this.#response
    if (this.#hasBegun || response.headersSent) {
      response.destroy()
      return
    }
    // The rest of the request's body is not read.
    response.setHeader('Connection', 'close')
    sendRefusal(response, refusal)
  }

  /** The caller lost its access. A stream of events ends with an event that states the reason. */
  revoke(cause: RpcError): void {
    const last = this.#hasBegun ? this.#events.lastEvent(cause) : undefined
    if (last === undefined) {
      this.refuse(refusalOf(cause))
      return
    }
    const cut = () => void this.#response.destroy()
    this.#response.write(last, cut)
    setTimeout(cut, lastEventMs).unref()
  }
}
