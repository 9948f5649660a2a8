/**
 * A stream of HTTP/2 as a connection with one request of HTTP/1.1. The HTTP server of the runtime reads the request from it and
 * writes the response to it; so all checks, limits and counts are those of HTTP/1.1.
 */
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { safely } from '@selvedge/service-kit/safely'
import { watchEnd } from '../../services/gateway/http2-end.ts'
import type { ParsedHead } from '../../services/gateway/response-head.ts'
import {
  createResponseReader,
  type ResponseEvents,
  type ResponseReader,
} from '../../services/gateway/response-reader.ts'
import type { RequestHead } from './request-head.ts'
import { fieldsOf } from './response-headers.ts'

/** What a stream is part of. */
export interface StreamCarrier {
  readonly socket: Socket
  /** Whether the request is one with HEAD: its response has no body. */
  readonly isHead: boolean
}

export class StreamSocket extends Duplex implements ResponseEvents {
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
  bytesRead = 0
  readonly #carrier: Socket
  readonly #stream: ServerHttp2Stream
  readonly #isChunked: boolean
  readonly #reader: ResponseReader
  #trailers: readonly string[] = []
  #isAnswered = false
  #isSent = false
  /** Whether the end of the answer waits for its trailers. */
  #waitsForTrailers = false
  #onTrailersSent: () => void = () => undefined
  #isRequestWhole: () => boolean = () => true
  /** Whether the stream stores what it has no room for: then the next write waits. */
  #isFull = false

  constructor(stream: ServerHttp2Stream, head: RequestHead, { socket, isHead }: StreamCarrier) {
    super({ allowHalfOpen: true })
    this.#carrier = socket
    this.remoteAddress = socket.remoteAddress
    this.remotePort = socket.remotePort
    this.localAddress = socket.localAddress
    this.localPort = socket.localPort
    if ('encrypted' in socket) Object.assign(this, { encrypted: true })
    this.#stream = stream
    this.#isChunked = head.framing === 'chunked'
    this.#reader = createResponseReader(isHead, this)
    this.push(head.text, 'latin1')
    this.#followRequest(head)
    stream.on('wantTrailers', safely('http2.trailers', this.#sendTrailers, this.#fail))
    stream.on('close', safely('http2.stream-close', this.#onStreamClose, this.#fail))
  }

  /** Whether the whole answer was handed to the stream. */
  get isAnswered(): boolean {
    return this.#isAnswered
  }

  setTimeout(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(isOn?: boolean, initialDelayMs?: number): this {
    this.#carrier.setKeepAlive(isOn, initialDelayMs)
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }

  /** Ends after what was written, like the method of a socket. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  #followRequest({ framing }: RequestHead): void {
    const stream = this.#stream
    if (framing === 'none') {
      stream.resume()
      return
    }
    const isWhole = watchEnd(stream)
    this.#isRequestWhole = isWhole
    const onEnd = () => {
      // A body that was cut off must not look complete.
      if (!isWhole()) this.destroy()
      else if (this.#isChunked) this.push('0\r\n\r\n', 'latin1')
    }
    stream.on('data', safely('http2.data', this.#onData, this.#fail))
    stream.on('end', safely('http2.end', onEnd, this.#fail))
    stream.on('aborted', safely('http2.aborted', this.#fail))
    stream.pause()
  }

  readonly #fail = (): void => void this.destroy()

  readonly #onData = (chunk: Buffer): void => {
    this.bytesRead += chunk.length
    if (this.destroyed) return
    if (this.#isChunked) this.push(`${chunk.length.toString(16)}\r\n`, 'latin1')
    let hasRoom = this.push(chunk)
    if (this.#isChunked) hasRoom = this.push('\r\n', 'latin1')
    if (!hasRoom) this.#stream.pause()
  }

  readonly #onStreamClose = (): void => {
    // What was answered may still be read to its end by the server: its connection closes by itself.
    if (!this.#isAnswered) this.destroy()
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (cause?: Error | null) => void): void {
    if (this.#stream.destroyed) {
      done(new Error('the stream was closed'))
      return
    }
    this.#isFull = false
    this.#reader.read(chunk)
    if (this.#isFull && !this.#isAnswered)
      this.#stream.once(
        'drain',
        safely('http2.drain', () => done()),
      )
    else done()
  }

  /** Done when the client has got the answer: until then, the connection counts as open. */
  override _final(done: (cause?: Error | null) => void): void {
    this.#reader.end()
    const stream = this.#stream
    const sent = safely('http2.sent', () => {
      if (this.#isSent) return
      this.#isSent = true
      done()
    })
    if (stream.destroyed || (stream.writableFinished && !this.#waitsForTrailers)) {
      sent()
      return
    }
    stream.once('close', sent)
    if (this.#waitsForTrailers) this.#onTrailersSent = sent
    else stream.once('finish', sent)
  }

  override _destroy(cause: Error | null, done: (cause?: Error | null) => void): void {
    const stream = this.#stream
    if (!this.#isAnswered || !this.#isSent) cut(stream)
    // The client is asked to send no more of a request that was answered (RFC 9113 § 8.1).
    else if (!this.#isRequestWhole() && !stream.closed) stream.close()
    // What the server has not read of the request is dropped.
    stream.resume()
    done(cause)
  }

  readonly #sendTrailers = (): void => {
    this.#waitsForTrailers = false
    this.#stream.sendTrailers(fieldsOf(this.#trailers))
    setImmediate(this.#onTrailersSent)
  }

  onHead(head: ParsedHead): void {
    const fields = { ...fieldsOf(head.headers), ':status': head.status }
    const isEmpty = head.framing === 'none' || (head.framing === 'length' && head.contentLength === 0)
    this.#respond(fields, isEmpty, head.framing === 'chunked')
  }

  #respond(fields: ReturnType<typeof fieldsOf>, isEmpty: boolean, waitForTrailers: boolean): void {
    try {
      this.#stream.respond(fields, { endStream: isEmpty, waitForTrailers })
      this.#waitsForTrailers = waitForTrailers
    } catch (cause) {
      if (this.#stream.destroyed || this.#stream.headersSent) throw cause
      // A service may send headers that HTTP/2 does not have.
      this.#stream.respond({ ':status': 502 }, { endStream: true })
      this.#isAnswered = true
    }
  }

  onTrailers(trailers: readonly string[]): void {
    this.#trailers = trailers
  }

  onBody(part: Buffer): void {
    if (part.length > 0 && this.#stream.writable) this.#isFull = !this.#stream.write(part)
  }

  onEnd(): void {
    this.#isAnswered = true
    if (this.#stream.writable) this.#stream.end()
  }

  onUnanswered(): void {
    this.destroy()
  }

  onBroken(): void {
    this.destroy()
  }
}

/** Resets a stream: its client learns that the answer is not complete. */
function cut(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.destroy(new Error('the answer was cut off'))
}
