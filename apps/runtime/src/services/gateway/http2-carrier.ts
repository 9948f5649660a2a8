/** Carries a request over HTTP/2, as a stream of a connection that other requests use as well (RFC 9113 § 8.1). */
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { addAbortSignal } from 'node:stream'
import { safely } from '@selvedge/service-kit/safely'
import { outliveStream } from '../engines/http2-lifetime.ts'
import { acceptsTrailers } from './accepts-trailers.ts'
import type { Carrier, CarrierUser } from './carrier.ts'
import type { Exchanged } from './exchanged.ts'
import { watchEnd } from './http2-end.ts'
import type { Http2Session, Http2Sessions } from './http2-sessions.ts'
import type { ParsedHead } from './response-head.ts'
import { pauseUntilDrained } from './send-request.ts'

/** A flag of a HEADERS frame (RFC 9113 § 6.2): no body follows. */
const endStream = 1

export class Http2Carrier implements Carrier {
  readonly passesHeadsAtOnce = true
  readonly isReused: boolean
  readonly #exchanged: Exchanged
  readonly #session: Http2Session
  #user: CarrierUser | undefined
  #stream: ClientHttp2Stream | undefined
  #isWhole: () => boolean = () => false
  #hasHead = false
  #failure: Error | undefined
  #isOver = false

  constructor(sessions: Http2Sessions, exchanged: Exchanged) {
    this.#exchanged = exchanged
    this.#session = sessions.take(exchanged.passage.running)
    this.isReused = this.#session.used
  }

  start(user: CarrierUser): void {
    const { request, passage, body } = this.#exchanged
    const { session, streams } = this.#session
    const fail = (cause: unknown) => user.failed(cause as Error)
    this.#user = user
    this.#session.used = true
    let stream: ClientHttp2Stream
    try {
      const fields = requestFields(request, passage.path, passage.headers, body === 'length')
      stream = session.request(fields, { endStream: body === 'none' })
    } catch (cause) {
      fail(cause)
      return
    }
    this.#stream = stream
    outliveStream(session, stream)
    streams.add(this)
    this.#isWhole = watchEnd(stream)
    stream.on('response', safely('gateway.response', this.#onResponse, fail))
    stream.on(
      'trailers',
      safely('gateway.trailers', (trailers: IncomingHttpHeaders) => this.#onTrailers(trailers), fail),
    )
    stream.on(
      'data',
      safely('gateway.data', (chunk: Buffer) => user.onBody(chunk, false), fail),
    )
    stream.on('end', safely('gateway.end', this.#onEnd, fail))
    stream.on('close', safely('gateway.close', this.#onClose, fail))
    stream.on('error', (cause) => {
      this.#failure = cause
    })
    if (body !== 'none') this.#sendBody(request, stream)
  }

  pause(): void {
    this.#stream?.pause()
  }

  resume(): void {
    this.#stream?.resume()
  }

  end(isReusable: boolean): void {
    this.#isOver = true
    this.#session.streams.delete(this)
    const stream = this.#stream
    if (!stream || stream.destroyed) return
    if (isReusable && stream.writableFinished) return
    // RST_STREAM with CANCEL. `close` would end the request first, which then looked complete.
    addAbortSignal(AbortSignal.abort(), stream)
  }

  #sendBody(request: IncomingMessage, stream: ClientHttp2Stream): void {
    const destroy = () => void stream.destroy()
    const send = (chunk: Buffer) => {
      if (!this.#isOver && stream.writable && !stream.write(chunk)) pauseUntilDrained(request, stream)
    }
    const finish = () => {
      if (!this.#isOver && stream.writable) stream.end()
    }
    request.on('data', safely('gateway.request-data', send, destroy))
    request.on('end', safely('gateway.request-end', finish, destroy))
  }

  readonly #onResponse = (headers: IncomingHttpHeaders, flags: number): void => {
    if (this.#isOver) return
    this.#hasHead = true
    this.#user?.onHead(headOf(headers, (flags & endStream) !== 0, this.#exchanged.request.method === 'HEAD'))
  }

  #onTrailers(trailers: IncomingHttpHeaders): void {
    if (!this.#isOver) this.#user?.onTrailers?.(pairsOf(trailers))
  }

  readonly #onEnd = (): void => {
    if (this.#isOver || !this.#hasHead || !this.#isWhole()) return
    this.#user?.onBody(Buffer.alloc(0), true)
    this.#user?.onEnd(true)
  }

  /** Also after an answer that was complete: then nothing waits for it. */
  readonly #onClose = (): void => {
    if (this.#isOver) return
    const { session, isConnected, speaksHttp2 } = this.#session
    if (isConnected && !speaksHttp2) this.#user?.onBroken(foreign.why, foreign.message)
    else if (session.destroyed || session.closed) this.#user?.gone(this.#failure)
    else this.#user?.onBroken(`it reset the stream (RST_STREAM, code ${this.#stream?.rstCode})`)
  }
}

/** What an instance gets wrong that answers with another protocol than HTTP/2. */
const foreign = {
  why: 'it did not answer in HTTP/2',
  message:
    'the service did not answer in HTTP/2 without TLS, as MCM.PROTOCOL "h2c" requires; remove the setting if it speaks HTTP/1.1',
} as const

/** @param headers names and values in turn, for the service */
function requestFields(
  { method = 'GET', headers: sent }: IncomingMessage,
  path: string,
  headers: readonly string[],
  hasLength: boolean,
): OutgoingHttpHeaders {
  const fields: OutgoingHttpHeaders = Object.create(null)
  fields[':method'] = method
  fields[':path'] = path
  fields[':scheme'] = 'http'
  for (let at = 0; at < headers.length; at += 2) {
    const lower = headers[at]!.toLowerCase()
    if (lower === 'http2-settings') continue
    const name = lower === 'host' ? ':authority' : lower
    const before = fields[name]
    const value = headers[at + 1]!
    if (before === undefined || name === ':authority') fields[name] = value
    else if (Array.isArray(before)) before.push(value)
    else fields[name] = [String(before), value]
  }
  if (hasLength) fields['content-length'] = sent['content-length']
  if (acceptsTrailers(sent.te)) fields.te = 'trailers'
  return fields
}

/** Fields without pseudo-headers, as names and values in turn. */
function pairsOf(fields: IncomingHttpHeaders): string[] {
  const pairs: string[] = []
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith(':') || value === undefined) continue
    for (const each of Array.isArray(value) ? value : [value]) pairs.push(name, String(each))
  }
  return pairs
}

/** @param isHead whether the request was HEAD: the answer to a GET may have a body */
function headOf(headers: IncomingHttpHeaders, isEmpty: boolean, isHead: boolean): ParsedHead {
  const { ':status': status = 0, 'content-length': length, ...rest } = headers
  const isGrpc = headers['content-type']?.startsWith('application/grpc') ?? false
  // A length in HTTP/1.1 leaves no room for the trailers that every answer of gRPC has.
  const keepsLength = length !== undefined && !isGrpc
  const pairs = pairsOf(keepsLength ? { ...rest, 'content-length': length } : rest)
  // Without a length, an answer that ends with its head would get an end of its own: a status of gRPC has to come with the end.
  const mayHaveBody = !isHead && Number(status) !== 204 && Number(status) !== 304
  if (isEmpty && mayHaveBody && !keepsLength) pairs.push('content-length', '0')
  return {
    status: Number(status),
    message: STATUS_CODES[Number(status)] ?? '',
    headers: pairs,
    framing: isEmpty ? 'none' : keepsLength ? 'length' : 'chunked',
    contentLength: keepsLength ? Number(length) : 0,
    isPersistent: true,
  }
}
