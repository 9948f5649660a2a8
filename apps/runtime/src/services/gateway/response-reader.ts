/**
 * Reads HTTP/1.1 responses of services (RFC 9112). Strict: services are trusted no more than callers. Our own parser, because
 * Node's HTTP client needs more CPU than the rest of the gateway (measured in bench/).
 */
import { BrokenResponse } from './broken-response.ts'
import { ChunkedBody } from './chunked-body.ts'
import { findEnd } from './find-end.ts'
import { type Framing, type ParsedHead, parseHead } from './response-head.ts'

/** Bytes of a status line with its headers. */
const maxHeadBytes = 64 * 1024
/** Interim responses (1xx) before the final one. */
const maxInterim = 16

export interface ResponseEvents {
  /** The head of the final response; interim ones are dropped. */
  onHead(head: ParsedHead): void
  /** The trailers of a body in chunks, before its last part. */
  onTrailers?(trailers: readonly string[]): void
  /** A part of the body. `isLast`: nothing follows it. */
  onBody(part: Buffer, isLast: boolean): void
  /** The response is complete. @param reusable whether the connection may carry another one */
  onEnd(reusable: boolean): void
  /** The connection closed before the head was complete. */
  onUnanswered(): void
  /**
   * The response is malformed or cut short: nothing follows.
   *
   * @param why completes a sentence about the response
   * @param message for the client, if there is a better one than the usual one
   */
  onBroken(why: string, message?: string): void
}

export interface ResponseReader {
  read(chunk: Buffer): void
  /** The connection closed. That completes a body without a length; any other response is cut short. */
  end(): void
}

const empty = Buffer.alloc(0)
const headEnd = Buffer.from('\r\n\r\n')

/** @param hasNoBody whether the request was HEAD: its response has no body */
export function createResponseReader(hasNoBody: boolean, events: ResponseEvents): ResponseReader {
  return new Reader(hasNoBody, events)
}

class Reader implements ResponseReader {
  readonly #hasNoBody: boolean
  readonly #events: ResponseEvents
  #state: 'head' | 'body' | 'over' = 'head'
  #interim = 0
  #unfinishedHead: HeadPieces | undefined
  #framing: Framing | undefined
  #isPersistent = false
  /** Bytes of a body with a length that were not read yet. */
  #left = 0
  #chunked: ChunkedBody | undefined
  /** An incomplete line of a chunked body. */
  #rest: Buffer = empty

  constructor(hasNoBody: boolean, events: ResponseEvents) {
    this.#hasNoBody = hasNoBody
    this.#events = events
  }

  read(chunk: Buffer): void {
    if (this.#state === 'over') return
    try {
      if (this.#state === 'head') this.#readHead(chunk)
      else this.#readBody(chunk)
    } catch (cause) {
      if (!(cause instanceof BrokenResponse)) throw cause
      this.#break(cause.message)
    }
  }

  end(): void {
    const state = this.#state
    if (state === 'head') {
      this.#state = 'over'
      this.#events.onUnanswered()
    } else if (state === 'body' && this.#framing === 'close') {
      this.#events.onBody(empty, true)
      this.#complete(0)
    } else if (state === 'body') this.#break('its answer was cut short')
  }

  #break(why: string): void {
    this.#state = 'over'
    this.#events.onBroken(why)
  }

  /** @param bytesAfter bytes after the response: they answer no request, and would be read as the next response */
  #complete(bytesAfter: number): void {
    this.#state = 'over'
    this.#events.onEnd(this.#isPersistent && bytesAfter === 0)
  }

  /** Reads heads up to that of the final response. */
  #readHead(chunk: Buffer): void {
    let bytes = this.#unfinishedHead ? this.#unfinishedHead.add(chunk) : chunk
    while (bytes) {
      const end = findEnd(bytes, headEnd, maxHeadBytes, `its headers are larger than ${maxHeadBytes} bytes`)
      if (end < 0) {
        this.#unfinishedHead = new HeadPieces(bytes)
        return
      }
      const head = parseHead(bytes.toString('latin1', 0, end), this.#hasNoBody)
      bytes = bytes.subarray(end + headEnd.length)
      if (head.status >= 200) {
        this.#beginBody(head, bytes)
        return
      }
      this.#countInterim(head.status)
    }
  }

  /** 100 and 103 announce a response. 101 would accept an upgrade that was not requested. */
  #countInterim(status: number): void {
    if (status === 101) throw new BrokenResponse('it switches protocols unasked')
    if (++this.#interim > maxInterim)
      throw new BrokenResponse(`it announced its answer more than ${maxInterim} times`)
  }

  #beginBody(head: ParsedHead, bytes: Buffer): void {
    this.#state = 'body'
    this.#unfinishedHead = undefined
    this.#framing = head.framing
    this.#isPersistent = head.isPersistent
    this.#left = head.contentLength
    if (head.framing === 'chunked') this.#chunked = new ChunkedBody()
    this.#events.onHead(head)
    const isEmpty = head.framing === 'none' || (head.framing === 'length' && head.contentLength === 0)
    if (bytes.length > 0 || isEmpty) this.#readBody(bytes)
  }

  #readBody(bytes: Buffer): void {
    if (this.#chunked) this.#readChunks(this.#chunked, bytes)
    else if (this.#framing === 'close') this.#events.onBody(bytes, false)
    else {
      const part = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left)
      this.#left -= part.length
      this.#events.onBody(part, this.#left === 0)
      if (this.#left === 0) this.#complete(bytes.length - part.length)
    }
  }

  /** Chunks that arrive together are passed on together. If one of them is malformed, all are dropped. */
  #readChunks(body: ChunkedBody, bytes: Buffer): void {
    this.#rest = body.read(this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]))
    const data = body.takeData()
    if (body.isComplete && body.trailers.length > 0) this.#events.onTrailers?.(body.trailers)
    if (data.length > 0 || body.isComplete) this.#events.onBody(data, body.isComplete)
    if (body.isComplete) this.#complete(this.#rest.length)
  }
}

/** The pieces of an incomplete head. They are joined once: to join them at each piece would take quadratic time. */
class HeadPieces {
  readonly #pieces: Buffer[]
  #bytes: number
  /** The last three bytes: the end of the head may be split between two pieces. */
  #tail: Buffer

  constructor(first: Buffer) {
    this.#pieces = [first]
    this.#bytes = first.length
    this.#tail = first.subarray(-3)
  }

  /** @returns all pieces, when they contain the end of the head or are too large; else undefined */
  add(piece: Buffer): Buffer | undefined {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    const seam = Buffer.concat([this.#tail, piece])
    this.#tail = seam.subarray(-3)
    const isTooLarge = this.#bytes >= maxHeadBytes + headEnd.length
    return isTooLarge || seam.includes(headEnd) ? Buffer.concat(this.#pieces) : undefined
  }
}
