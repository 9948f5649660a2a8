import { ConnectionFailure } from './errors.ts'
import { readText, type TextAnswer } from './read-text.ts'

/** Bytes of an answer. */
const maxAnswer = 16 * 1024 * 1024

/** As much of `fetch` as this library needs; the one of the platform fits, and so does the one of `./node`. */
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

/** How a service is reached. */
export interface Connection {
  /** URL without a path, such as `http://127.0.0.1:8083`. */
  readonly url: string
  /** Default: the platform's. */
  readonly fetch?: Fetch
  /** Milliseconds for one request, answer included. Default 10,000. */
  readonly timeoutMs?: number
}

export interface CallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly header: (name: string) => string | null
  /** The body as JSON; undefined where it is empty, or a token (application/jwt). */
  readonly json: unknown
  readonly text: string
}

/** @throws ConnectionFailure */
export async function send(
  { url, fetch = globalThis.fetch, timeoutMs = 10_000 }: Connection,
  request: { method: string; path: string; headers?: Record<string, string>; body?: string },
  { signal }: CallOptions = {},
): Promise<Reply> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const { method, path, headers = {}, body } = request
  let status: number
  let text: string
  let header: Reply['header']
  try {
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      redirect: 'error',
    })
    status = response.status
    header = (name) => response.headers.get(name)
    text = await readText(response, maxAnswer)
  } catch (cause) {
    if (signal?.aborted)
      throw new ConnectionFailure('aborted', `the call to ${url}${path} was cancelled`, { cause })
    if (timeout.aborted)
      throw new ConnectionFailure('timeout', `${url}${path} did not answer within ${timeoutMs} ms`, { cause })
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
      { cause },
    )
  }
}

/** `fetch` of the platform hides the cause of "fetch failed" one level down. */
function reasonOf(cause: unknown): string {
  const { message, cause: inner } = cause as Error
  return inner instanceof Error ? (inner as Error & { code?: string }).code || inner.message : message
}
