/** Requests and responses of `wasi:http/types`, and their bodies. */
import { createQueue, type OutgoingQueue } from './body.ts'
import { Refusal, Trap } from './failure.ts'
import type { Fields } from './fields.ts'
import { InputStream, OutputStream, Pollable } from './io.ts'
import type { Session } from './session.ts'

/** `error-code`, as far as this host returns one. */
export type ErrorCode =
  | { readonly tag: 'internal-error'; readonly val: string | undefined }
  | { readonly tag: 'HTTP-request-body-size' | 'HTTP-response-body-size'; readonly val: bigint | undefined }
  | { readonly tag: 'HTTP-request-method-invalid' | 'HTTP-request-URI-invalid' | 'connection-read-timeout' }

export type Result<T, E> = { readonly tag: 'ok'; readonly val: T } | { readonly tag: 'err'; readonly val: E }

export type Method = { readonly tag: string; readonly val?: string }
export type Scheme = { readonly tag: 'HTTP' | 'HTTPS' } | { readonly tag: 'other'; readonly val: string }

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']
const isToken = (text: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/.test(text)

const methodOf = (name: string): Method =>
  methods.includes(name) ? { tag: name.toLowerCase() } : { tag: 'other', val: name }

export const nameOf = ({ tag, val }: Method): string => (tag === 'other' ? (val ?? '') : tag.toUpperCase())

/** Something that can be obtained once. @throws Refusal the second time */
function once<T>(make: () => T): () => T {
  let isDone = false
  return () => {
    if (isDone) throw new Refusal(undefined)
    isDone = true
    return make()
  }
}

/** Trailers are not passed on: neither those of a request nor those of a response. */
export class FutureTrailers {
  readonly #session: Session
  #isRead = false

  constructor(session: Session) {
    this.#session = session
  }

  subscribe(): Pollable {
    return new Pollable(
      this.#session,
      () => true,
      () => Promise.resolve(),
    )
  }

  get(): Result<Result<undefined, ErrorCode>, undefined> {
    if (this.#isRead) return { tag: 'err', val: undefined }
    this.#isRead = true
    return { tag: 'ok', val: { tag: 'ok', val: undefined } }
  }
}

export class IncomingBody {
  readonly stream: () => InputStream
  readonly #session: Session

  constructor(session: Session, source: ReadableStream<Uint8Array> | null) {
    this.#session = session
    this.stream = once(() => new InputStream(session, source))
  }

  static finish(body: IncomingBody): FutureTrailers {
    return new FutureTrailers(body.#session)
  }
}

export class IncomingRequest {
  readonly consume: () => IncomingBody
  readonly #request: Request
  readonly #url: URL
  readonly #headers: Fields

  constructor(session: Session, request: Request, headers: Fields) {
    this.#request = request
    this.#url = new URL(request.url)
    this.#headers = headers
    this.consume = once(() => new IncomingBody(session, request.body))
  }

  method(): Method {
    return methodOf(this.#request.method)
  }

  pathWithQuery(): string {
    return this.#url.pathname + this.#url.search
  }

  scheme(): Scheme {
    return { tag: this.#url.protocol === 'https:' ? 'HTTPS' : 'HTTP' }
  }

  authority(): string {
    return this.#request.headers.get('host') ?? this.#url.host
  }

  headers(): Fields {
    return this.#headers
  }
}

export class IncomingResponse {
  readonly consume: () => IncomingBody
  readonly #status: number
  readonly #headers: Fields

  constructor(session: Session, response: Response, headers: Fields) {
    this.#status = response.status
    this.#headers = headers
    this.consume = once(() => new IncomingBody(session, response.body))
  }

  status(): number {
    return this.#status
  }

  headers(): Fields {
    return this.#headers
  }
}

export class OutgoingBody {
  readonly write: () => OutputStream
  readonly queue: OutgoingQueue
  readonly #size: 'HTTP-request-body-size' | 'HTTP-response-body-size'

  constructor(session: Session, headers: Fields, size: 'HTTP-request-body-size' | 'HTTP-response-body-size') {
    this.#size = size
    this.queue = createQueue(() => headers.contentLength())
    this.write = once(() => new OutputStream(session, this.queue))
  }

  /** @param trailers are dropped */
  static finish(body: OutgoingBody, _trailers: Fields | undefined): void {
    try {
      body.queue.finish()
    } catch {
      throw new Refusal<ErrorCode>({ tag: body.#size, val: undefined })
    }
  }

  [Symbol.dispose](): void {
    this.queue.abandon('the component did not finish the body')
  }
}

export class OutgoingResponse {
  readonly body: () => OutgoingBody
  readonly headers: () => Fields
  #status = 200
  #body: OutgoingBody | undefined

  constructor(session: Session, headers: Fields) {
    headers.freeze()
    this.headers = () => headers
    this.body = once(() => {
      this.#body = new OutgoingBody(session, headers, 'HTTP-response-body-size')
      return this.#body
    })
  }

  statusCode(): number {
    return this.#status
  }

  setStatusCode(status: number): void {
    if (status < 200 || status > 599) throw new Refusal(undefined)
    this.#status = status
  }

  /** The body is incomplete, unless the component finished it. */
  abandon(why: string): void {
    this.#body?.queue.abandon(why)
  }

  /** A body that the component did not request is empty. */
  toResponse(): { readonly response: Response; readonly settled: Promise<void> } {
    const init = { status: this.#status, headers: this.headers().toHeaders() }
    const queue = this.#body?.queue
    if (!queue) return { response: new Response(null, init), settled: Promise.resolve() }
    if (![204, 205, 304].includes(this.#status))
      return { response: new Response(queue.stream, init), settled: queue.settled }
    // RFC 9110 § 6.4.1: no content.
    void queue.stream.cancel()
    return { response: new Response(null, init), settled: queue.settled }
  }
}

export class OutgoingRequest {
  readonly body: () => OutgoingBody
  readonly headers: () => Fields
  #body: OutgoingBody | undefined
  #method: Method = { tag: 'get' }
  #path: string | undefined
  #scheme: Scheme | undefined
  #authority: string | undefined

  constructor(session: Session, headers: Fields) {
    headers.freeze()
    this.headers = () => headers
    this.body = once(() => {
      this.#body = new OutgoingBody(session, headers, 'HTTP-request-body-size')
      return this.#body
    })
  }

  method(): Method {
    return this.#method
  }

  setMethod(method: Method): void {
    if (!isToken(nameOf(method))) throw new Refusal(undefined)
    this.#method = method
  }

  pathWithQuery(): string | undefined {
    return this.#path
  }

  setPathWithQuery(path: string | undefined): void {
    if (path !== undefined && !/^[!-~]{0,8192}$/.test(path)) throw new Refusal(undefined)
    this.#path = path
  }

  scheme(): Scheme | undefined {
    return this.#scheme
  }

  setScheme(scheme: Scheme | undefined): void {
    if (scheme?.tag === 'other') throw new Refusal(undefined)
    this.#scheme = scheme
  }

  authority(): string | undefined {
    return this.#authority
  }

  setAuthority(authority: string | undefined): void {
    if (authority !== undefined && !/^[a-z0-9.:_[\]-]{1,260}$/i.test(authority)) throw new Refusal(undefined)
    this.#authority = authority
  }

  /** @throws Refusal `error-code` for an invalid address */
  url(): string {
    const scheme = this.#scheme?.tag === 'HTTP' ? 'http' : 'https'
    const path = this.#path ?? '/'
    const url = `${scheme}://${this.#authority ?? ''}${path.startsWith('/') ? '' : '/'}${path}`
    if (this.#authority === undefined || !URL.canParse(url))
      throw new Refusal<ErrorCode>({ tag: 'HTTP-request-URI-invalid' })
    return url
  }

  sentBody(): OutgoingBody | undefined {
    return this.#body
  }
}

/** Where the component puts its response, once. */
export class ResponseOutparam {
  readonly #set: (given: Result<OutgoingResponse, ErrorCode>) => void
  #isSet = false

  constructor(set: (given: Result<OutgoingResponse, ErrorCode>) => void) {
    this.#set = set
  }

  static set(param: ResponseOutparam, given: Result<OutgoingResponse, ErrorCode>): void {
    if (param.#isSet) throw new Trap('the response was set twice')
    param.#isSet = true
    param.#set(given)
  }
}
