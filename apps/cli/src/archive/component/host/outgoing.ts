/** `wasi:http/outgoing-handler`: requests of a component, over the `fetch` of its function, which checks `MCM.OUTBOUND`. */
import { Refusal } from './failure.ts'
import { Fields } from './fields.ts'
import { Pollable } from './io.ts'
import { type ErrorCode, IncomingResponse, nameOf, type OutgoingRequest, type Result } from './message.ts'
import type { Session } from './session.ts'

/** Requests of one request to the component that may be under way. */
const maxRequests = 64

const millisecondsOf = (nanoseconds: bigint): number => Number(nanoseconds / 1_000_000n)
const maxTimeoutMs = 2 ** 31 - 1

export class RequestOptions {
  #connect: bigint | undefined
  #firstByte: bigint | undefined
  #betweenBytes: bigint | undefined

  connectTimeout(): bigint | undefined {
    return this.#connect
  }
  setConnectTimeout(value: bigint | undefined): void {
    this.#connect = value
  }
  firstByteTimeout(): bigint | undefined {
    return this.#firstByte
  }
  setFirstByteTimeout(value: bigint | undefined): void {
    this.#firstByte = value
  }
  betweenBytesTimeout(): bigint | undefined {
    return this.#betweenBytes
  }
  /** Is stored, and not enforced: the runtime limits the time of each request. */
  setBetweenBytesTimeout(value: bigint | undefined): void {
    this.#betweenBytes = value
  }
}

type Outcome = Result<IncomingResponse, ErrorCode>

export class FutureIncomingResponse {
  readonly #session: Session
  readonly #pending: Promise<void>
  #outcome: Outcome | undefined
  #isRead = false

  constructor(session: Session, outcome: Promise<Outcome>) {
    this.#session = session
    this.#pending = outcome.then((settled) => {
      this.#outcome = settled
    })
  }

  subscribe(): Pollable {
    return new Pollable(
      this.#session,
      () => this.#outcome !== undefined,
      () => this.#pending,
    )
  }

  get(): Result<Outcome, undefined> | undefined {
    if (!this.#outcome) return undefined
    if (this.#isRead) return { tag: 'err', val: undefined }
    this.#isRead = true
    return { tag: 'ok', val: this.#outcome }
  }
}

export function createOutgoingHandler(session: Session) {
  let count = 0

  async function send(
    request: OutgoingRequest,
    url: string,
    options: RequestOptions | undefined,
  ): Promise<Outcome> {
    const timeout = options?.firstByteTimeout() ?? options?.connectTimeout()
    const late = new AbortController()
    // Cleared below: a timer that is left would hold the request in memory.
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(() => late.abort(), Math.min(millisecondsOf(timeout), maxTimeoutMs))
    const method = nameOf(request.method())
    const queue = method === 'GET' || method === 'HEAD' ? undefined : request.sentBody()?.queue
    count++
    try {
      const response = await fetch(url, {
        method,
        headers: request.headers().toHeaders(),
        // A host of components follows no redirect: the component decides.
        redirect: 'manual',
        signal: AbortSignal.any([session.signal, late.signal]),
        ...(queue && { body: queue.stream, duplex: 'half' }),
      } as RequestInit)
      return { tag: 'ok', val: new IncomingResponse(session, response, Fields.received(response.headers)) }
    } catch (cause) {
      if (late.signal.aborted) return { tag: 'err', val: { tag: 'connection-read-timeout' } }
      return { tag: 'err', val: { tag: 'internal-error', val: (cause as Error).message.slice(0, 1000) } }
    } finally {
      clearTimeout(timer)
      count--
    }
  }

  return {
    /** @throws Refusal `error-code` for a request that cannot be sent */
    handle(request: OutgoingRequest, options: RequestOptions | undefined): FutureIncomingResponse {
      const method = request.method().tag
      if (method === 'connect' || method === 'trace')
        throw new Refusal<ErrorCode>({ tag: 'HTTP-request-method-invalid' })
      if (count >= maxRequests)
        throw new Refusal<ErrorCode>({
          tag: 'internal-error',
          val: `${maxRequests} requests are under way: wait for one`,
        })
      return new FutureIncomingResponse(session, send(request, request.url(), options))
    },
  }
}
