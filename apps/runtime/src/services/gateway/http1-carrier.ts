/** Carries a request over HTTP/1.1, on a persistent connection. */
import type { Carrier, CarrierUser } from './carrier.ts'
import type { Connection, Connections, ConnectionUser } from './connections.ts'
import type { Exchanged } from './exchanged.ts'
import { linesOf } from './headers.ts'
import { createResponseReader, type ResponseReader } from './response-reader.ts'
import { type BodyFraming, sendRequest } from './send-request.ts'

export class Http1Carrier implements Carrier, ConnectionUser {
  readonly passesHeadsAtOnce = false
  readonly #connections: Connections
  readonly #exchanged: Exchanged
  readonly #connection: Connection
  #user: CarrierUser | undefined
  #reader: ResponseReader | undefined
  /** Whether the whole request was sent. */
  #isSent = false

  constructor(connections: Connections, exchanged: Exchanged) {
    this.#connections = connections
    this.#exchanged = exchanged
    this.#connection = connections.take(exchanged.passage.running)
  }

  get isReused(): boolean {
    return this.#connection.used
  }

  start(user: CarrierUser): void {
    const { request, passage, body } = this.#exchanged
    const method = request.method ?? 'GET'
    this.#user = user
    this.#reader = createResponseReader(method === 'HEAD', user)
    this.#connection.user = this
    const framing = framingLine(body, request.headers['content-length'])
    const head = `${method} ${passage.path} HTTP/1.1\r\n${linesOf(passage.headers)}${framing}\r\n`
    sendRequest(request, body, this.#connection.socket, head, () => {
      this.#isSent = true
    })
  }

  pause(): void {
    this.#connection.socket.pause()
  }

  resume(): void {
    this.#connection.socket.resume()
  }

  end(isReusable: boolean): void {
    this.#connection.user = undefined
    if (isReusable && this.#isSent) this.#connections.keep(this.#exchanged.passage.running, this.#connection)
    else this.#connection.socket.destroy()
  }

  read(chunk: Buffer): void {
    this.#reader?.read(chunk)
  }

  ended(): void {
    this.#reader?.end()
  }

  gone(cause?: Error): void {
    this.#user?.gone(cause)
  }

  failed(cause: Error): void {
    this.#user?.failed(cause)
  }
}

/** The header that frames the body, as a line, or "". */
function framingLine(body: BodyFraming, contentLength: string | undefined): string {
  if (body === 'none') return ''
  return body === 'length' ? `Content-Length: ${contentLength}\r\n` : 'Transfer-Encoding: chunked\r\n'
}
