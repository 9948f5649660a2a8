/** One request on one connection to an instance, and its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import { ClientAnswer } from './client-answer.ts'
import type { Connection, Connections, ConnectionUser } from './connections.ts'
import { linesOf } from './headers.ts'
import type { Passage } from './passage.ts'
import { countRequest, type RequestCount } from './request-count.ts'
import type { ResponseHead } from './response-head.ts'
import { createResponseReader, type ResponseEvents, type ResponseReader } from './response-reader.ts'
import { type BodyFraming, sendRequest } from './send-request.ts'

export interface ExchangeParts {
  readonly connections: Connections
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** What a request for a service consists of. */
export interface Exchanged {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly passage: Passage
  readonly body: BodyFraming
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

const repeatableMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether a request may be sent again, once: nothing was answered, and it is safe (RFC 9110 § 9.2.1, § 9.2.2). */
export const mayRepeat = ({ method, hasBody, isReused, isAnswered, isRepeated }: Attempt): boolean =>
  isReused && !isAnswered && !hasBody && !isRepeated && repeatableMethods.has(method)

export class Exchange implements ConnectionUser, ResponseEvents {
  readonly #parts: ExchangeParts
  readonly #exchanged: Exchanged
  readonly #isRepeated: boolean
  readonly #method: string
  readonly #connection: Connection
  readonly #answer: ClientAnswer
  readonly #reader: ResponseReader
  readonly #count: RequestCount
  readonly #limit: NodeJS.Timeout
  readonly #onClientGone = safely('gateway.client-gone', () => {
    if (!this.#exchanged.response.writableFinished) this.#end(false)
  })
  #unwatch: () => void = () => undefined
  /** Whether the whole request was sent. */
  #isSent = false
  #isOver = false

  /** @param isRepeated whether this sends a request again */
  constructor(parts: ExchangeParts, exchanged: Exchanged, isRepeated = false) {
    const { request, response, passage } = exchanged
    this.#parts = parts
    this.#exchanged = exchanged
    this.#isRepeated = isRepeated
    this.#method = request.method ?? 'GET'
    this.#count = countRequest(passage.running, parts.now)
    this.#connection = parts.connections.take(passage.running)
    this.#answer = new ClientAnswer(response, this.#connection.socket, passage)
    this.#reader = createResponseReader(this.#method === 'HEAD', this)
    this.#limit = setTimeout(
      safely('gateway.limit', () => this.#onLate()),
      passage.limitMs,
    )
  }

  start(): void {
    const { request, response, passage, body } = this.#exchanged
    this.#unwatch = passage.endWithCaller((cause) => this.#onRevoked(cause))
    this.#connection.user = this
    response.on('close', this.#onClientGone)
    const framing = framingLine(body, request)
    const head = `${this.#method} ${passage.path} HTTP/1.1\r\n${linesOf(passage.headers)}${framing}\r\n`
    sendRequest(request, body, this.#connection.socket, head, () => {
      this.#isSent = true
    })
  }

  read(chunk: Buffer): void {
    this.#reader.read(chunk)
  }

  ended(): void {
    this.#reader.end()
  }

  /** The connection closed. An instance may have closed a persistent connection while the request was on its way. */
  gone(cause?: Error): void {
    if (this.#isOver) return
    const attempt = {
      method: this.#method,
      hasBody: this.#exchanged.body !== 'none',
      isReused: this.#connection.used,
      isAnswered: this.#answer.hasBegun,
      isRepeated: this.#isRepeated,
    }
    if (mayRepeat(attempt)) {
      this.#end(false)
      new Exchange(this.#parts, this.#exchanged, true).start()
    } else this.onBroken(cause?.message ?? 'it ended the connection')
  }

  failed(cause: Error): void {
    this.onBroken(cause.message)
  }

  onHead(head: ResponseHead): void {
    clearTimeout(this.#limit)
    this.#count.answered()
    this.#answer.setHead(head)
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

  onBroken(why: string): void {
    this.#log(why)
    this.#refuse(
      502,
      'bad_gateway',
      'the service broke the connection, or answered with something that is not HTTP',
    )
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
    if (this.#isOver) return
    this.#end(false)
    this.#answer.revoke(cause)
  }

  #refuse(status: number, reason: string, message: string): void {
    if (this.#isOver) return
    this.#end(false)
    this.#answer.refuse({ status, reason, message })
  }

  /** Releases all that this request holds. @param isReusable whether the connection may carry another request */
  #end(isReusable: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#limit)
    this.#unwatch()
    this.#count.end()
    this.#exchanged.response.off('close', this.#onClientGone)
    this.#answer.resume()
    this.#connection.user = undefined
    if (isReusable && this.#isSent)
      this.#parts.connections.keep(this.#exchanged.passage.running, this.#connection)
    else this.#connection.socket.destroy()
  }
}

/** The header that frames the body, as a line, or "". */
function framingLine(body: BodyFraming, { headers }: IncomingMessage): string {
  if (body === 'none') return ''
  return body === 'length'
    ? `Content-Length: ${headers['content-length']}\r\n`
    : 'Transfer-Encoding: chunked\r\n'
}
