import { ConnectionFailure } from './errors.ts'
import { readText, type TextAnswer, tooLarge } from './read-text.ts'

/** Maximum bytes of a response. */
const maxAnswerBytes = 16 * 1024 * 1024

/** The part of `fetch` that this library needs. The platform's `fetch` fits, and so does that of `./node`. */
export type Fetch = (
  url: string,
  init: {
    method: string
    headers: Record<string, string>
    body?: string
    signal: AbortSignal
    redirect: 'error'
  },
) => Promise<
  TextAnswer & {
    readonly status: number
    readonly headers: { get(name: string): string | null }
  }
>

/** The address of a service. */
export interface Connection {
  /** URL without a path, such as `http://127.0.0.1:8083`. */
  readonly url: string
  /** Default: the platform's. */
  readonly fetch?: Fetch
  /** Timeout of one request in milliseconds, including the response. Default 10,000. */
  readonly timeoutMs?: number
}

/**
 * Refuses a connection without a usable URL when the client is made, and not at its first call. A getter is not called.
 *
 * @throws TypeError with what was given
 */
export function expectUrl(connection: unknown): void {
  const given: object = Object(connection)
  const { value, get } = Object.getOwnPropertyDescriptor(given, 'url') ?? {}
  if (get !== undefined || (typeof value === 'string' && /^https?:/.test(value) && URL.canParse(value)))
    return
  throw new TypeError(
    `the url of the connection is ${JSON.stringify(value) ?? typeof value}; expected the URL of the service, such as { url: 'http://127.0.0.1:8083' }`,
  )
}

export interface CallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly header: (name: string) => string | null
  /** The body as JSON; undefined if it is empty, or a token (application/jwt). */
  readonly json: unknown
  readonly text: string
}

interface Request {
  readonly method: string
  readonly path: string
  /** A function creates them again for each attempt: a proof is accepted once. */
  readonly headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>)
  readonly body?: string
  /** Whether it may be sent twice although its method is not idempotent: the service does the same as for one (RFC 9110 § 9.2.2). */
  readonly isRepeatable?: boolean
}

/** How often a request is sent that an overloaded service refuses, and the longest wait in seconds that it may ask for. */
const attempts = { most: 3, maxWaitSeconds: 5 }

/**
 * Sends a request. A busy service answers 503 with `Retry-After` and has done nothing. The request is then sent again after that
 * time and a random part of it, so that the clients of a burst do not retry at the same time (back-off with jitter). A request on a
 * connection that was closed while it waited is sent once more, on a new one, if the service may get it twice.
 *
 * @throws ConnectionFailure
 */
export async function send(
  connection: Connection,
  request: Request,
  { signal }: CallOptions = {},
): Promise<Reply> {
  const { timeoutMs = 10_000 } = connection
  const deadline = performance.now() + timeoutMs
  for (let attempt = 1; ; attempt++) {
    const once = () => sendOnce(connection, request, signal, deadline - performance.now())
    const reply = await once().catch((cause: ConnectionFailure) => {
      if (mayRepeat(request) && wasReused(cause.cause)) return once()
      throw cause
    })
    const waitSeconds = Number(reply.header('retry-after') ?? Number.NaN)
    const waitMs = waitSeconds * 1000 * (1 + Math.random())
    const isWorthIt = waitSeconds <= attempts.maxWaitSeconds && performance.now() + waitMs < deadline
    if (reply.status !== 503 || !isWorthIt || attempt === attempts.most) return reply
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

/** Methods that a service may get twice with the effect of once (RFC 9110 § 9.2.2). */
const idempotent: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
const mayRepeat = ({ method, isRepeatable = false }: Request): boolean =>
  isRepeatable || idempotent.has(method)

/** Whether an error of `fetch` of `./node` is about a connection that was closed while it waited for its next request. */
const wasReused = (cause: unknown): boolean =>
  cause instanceof Error && (cause as { wasReused?: true }).wasReused === true

async function sendOnce(
  { url, fetch = globalThis.fetch, timeoutMs = 10_000 }: Connection,
  { method, path, headers = {}, body }: Request,
  signal: AbortSignal | undefined,
  leftMs: number,
): Promise<Reply> {
  const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(leftMs)))
  let status: number
  let text: string
  let header: Reply['header']
  try {
    const response = await fetch(url + path, {
      method,
      headers: typeof headers === 'function' ? await headers() : headers,
      ...(body !== undefined && { body }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      redirect: 'error',
    })
    status = response.status
    header = (name) => response.headers.get(name)
    text = await readText(response, maxAnswerBytes)
  } catch (cause) {
    if (signal?.aborted)
      throw new ConnectionFailure('aborted', `the call to ${url}${path} was cancelled`, { cause })
    if (timeout.aborted)
      throw new ConnectionFailure('timeout', `${url}${path} did not answer within ${timeoutMs} ms`, { cause })
    if ((cause as { code?: unknown }).code === tooLarge)
      throw new ConnectionFailure('bad_answer', `${url}${path}: ${(cause as Error).message}`, { cause })
    throw new ConnectionFailure('not_running', `nothing answers at ${url}: ${reasonOf(cause)}`, { cause })
  }
  if (text === '' || header('content-type') === 'application/jwt')
    return { status, header, json: undefined, text }
  try {
    return { status, header, json: JSON.parse(text), text }
  } catch (cause) {
    throw new ConnectionFailure(
      'bad_answer',
      `${url}${path} answered ${status} with something that is not JSON`,
      { cause, status },
    )
  }
}

/** `fetch` of the platform hides the cause of "fetch failed" one level down. */
function reasonOf(cause: unknown): string {
  const { message, cause: inner } = cause as Error
  return inner instanceof Error ? (inner as Error & { code?: string }).code || inner.message : message
}
