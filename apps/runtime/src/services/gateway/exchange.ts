/** One request to an instance, and its answer. */
import type { RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import type { Carrier, CarrierUser } from './carrier.ts'
import { ClientAnswer } from './client-answer.ts'
import type { Connections } from './connections.ts'
import type { Exchanged } from './exchanged.ts'
import { Http1Carrier } from './http1-carrier.ts'
import { Http2Carrier } from './http2-carrier.ts'
import type { Http2Sessions } from './http2-sessions.ts'
import { countRequest, type RequestCount } from './request-count.ts'
import type { ParsedHead } from './response-head.ts'

export interface ExchangeParts {
  readonly connections: Connections
  readonly sessions: Http2Sessions
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** What decides whether a request may be sent again after its connection closed. */
export interface Attempt {
  readonly method: string
  readonly hasBody: boolean
  /** Whether the connection carried an earlier request: the instance may have closed it at the same moment. */
  readonly isReused: boolean
  readonly isAnswered: boolean
  readonly isRepeated: boolean
}

const brokenMessage = 'the service broke the connection, or answered with something that is not HTTP'
const repeatableMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether a request may be sent again, once: nothing was answered, and it is safe (RFC 9110 § 9.2.1, § 9.2.2). */
export const mayRepeat = ({ method, hasBody, isReused, isAnswered, isRepeated }: Attempt): boolean =>
  isReused && !isAnswered && !hasBody && !isRepeated && repeatableMethods.has(method)

export class Exchange implements CarrierUser {
  readonly #parts: ExchangeParts
  readonly #exchanged: Exchanged
  readonly #isRepeated: boolean
  readonly #method: string
  readonly #carrier: Carrier
  readonly #answer: ClientAnswer
  readonly #count: RequestCount
  readonly #limit: NodeJS.Timeout
  #unwatch: () => void = () => undefined
  #isOver = false

  /** @param isRepeated whether this sends a request again */
  constructor(parts: ExchangeParts, exchanged: Exchanged, isRepeated = false) {
    const { request, response, passage } = exchanged
    this.#parts = parts
    this.#exchanged = exchanged
    this.#isRepeated = isRepeated
    this.#method = request.method!
    this.#count = countRequest(passage.running, parts.now)
    this.#carrier = passage.speaksHttp2
      ? new Http2Carrier(parts.sessions, exchanged)
      : new Http1Carrier(parts.connections, exchanged)
    this.#answer = new ClientAnswer(response, this.#carrier, passage)
    this.#limit = setTimeout(
      safely('gateway.limit', () => this.#onLate()),
      passage.limitMs,
    )
  }

  start(): void {
    const { response, passage } = this.#exchanged
    this.#unwatch = passage.endWithCaller((cause) => this.#onRevoked(cause))
    response.on(
      'close',
      safely('gateway.client-gone', () => this.#end(false)),
    )
    this.#carrier.start(this)
  }

  /** The connection closed. An instance may have closed a persistent connection while the request was on its way. */
  gone(cause?: Error): void {
    const attempt = {
      method: this.#method,
      hasBody: this.#exchanged.body !== 'none',
      isReused: this.#carrier.isReused,
      isAnswered: this.#answer.hasBegun,
      isRepeated: this.#isRepeated,
    }
    if (!mayRepeat(attempt)) this.onBroken(cause?.message ?? 'it ended the connection')
    else if (this.#end(false)) new Exchange(this.#parts, this.#exchanged, true).start()
  }

  failed(cause: Error): void {
    this.onBroken(cause.message)
  }

  onHead(head: ParsedHead): void {
    clearTimeout(this.#limit)
    this.#count.answered()
    this.#answer.setHead(head)
    if (this.#carrier.passesHeadsAtOnce && head.framing !== 'none') this.#answer.begin()
  }

  onTrailers(trailers: readonly string[]): void {
    this.#answer.setTrailers(trailers)
  }

  onBody(part: Buffer, isLast: boolean): void {
    this.#answer.send(part, isLast)
  }

  onEnd(reusable: boolean): void {
    this.#end(reusable)
  }

  onUnanswered(): void {
    this.gone()
  }

  /** @param message for the client */
  onBroken(why: string, message = brokenMessage): void {
    this.#log(why)
    this.#refuse(502, 'bad_gateway', message)
  }

  #onLate(): void {
    const { limitMs, onOverrun } = this.#exchanged.passage
    const message = `the service did not begin its answer within ${limitMs / 1000} s (MCM.MAX_EXECUTION_TIME_SEC)`
    this.#log(message)
    this.#refuse(504, 'timeout', message)
    onOverrun()
  }

  /** Notes in the log of the container why a request failed; its caller finds it by the ID. */
  #log(why: string): void {
    const { running, path, requestId } = this.#exchanged.passage
    running.plan.log(
      'runtime',
      `no answer for ${this.#method} ${path.split('?', 1)[0]} (request ${requestId}): ${why}`,
    )
  }

  #onRevoked(cause: RpcError): void {
    if (this.#end(false)) this.#answer.revoke(cause)
  }

  #refuse(status: number, reason: string, message: string): void {
    if (this.#end(false)) this.#answer.refuse({ status, reason, message })
  }

  /**
   * Releases all that this request holds.
   *
   * @param isReusable whether the connection may carry another request
   * @returns whether it was not over before
   */
  #end(isReusable: boolean): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    clearTimeout(this.#limit)
    this.#unwatch()
    this.#count.end()
    this.#answer.resume()
    this.#carrier.end(isReusable)
    return true
  }
}
