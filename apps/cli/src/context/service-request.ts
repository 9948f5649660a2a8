/** One HTTP request to a service of the runtime, with the access token. No redirect is followed. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { ConnectionFailure } from '@selvedge/client'
import { authorizationOf, type StreamConnection, startRequest, wayTo } from '@selvedge/client/node'
import { UsageError } from '../failure.ts'

/** Milliseconds without a byte after which a request ends. */
const idleMs = 60_000

export interface ServiceRequest {
  readonly method: string
  /** Path and query, as `readServicePath` returns it. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface ServiceAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: IncomingMessage
}

/**
 * The path of a request below that of the service. A token is sent there: neither path can lead to another host, and the path of
 * the user to nothing else of the runtime.
 *
 * @param basePath of the service, as `findContainer` checked it
 * @throws UsageError
 */
export function readServicePath(basePath: string, path: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    throw new UsageError(
      `${JSON.stringify(path.slice(0, 200))} is a URL, and the token is sent only to services of this device`,
      'Give a path, such as /items?limit=10',
    )
  const host = 'http://runtime.invalid'
  const text = host + basePath + (path === '' || /^[/?]/.test(path) ? path : `/${path}`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isBelow =
    url?.origin === host && (url.pathname === basePath || url.pathname.startsWith(`${basePath}/`))
  if (isBelow) return url.pathname + url.search
  throw new UsageError(
    `the path ${JSON.stringify(path.slice(0, 200))} leads out of the service`,
    'Give a path of the service, such as /items?limit=10',
  )
}

/** @throws ConnectionFailure | UsageError */
export async function requestService(
  connection: StreamConnection,
  { method, path, headers, body }: ServiceRequest,
): Promise<ServiceAnswer> {
  const { url } = connection
  const options = {
    method,
    headers: {
      ...headers,
      ...(await authorizationOf(connection, method, url + path)),
    },
    ...wayTo(connection, url),
  }
  return new Promise((resolve, reject) => {
    const sent = startRequest(url + path, options, (answer) =>
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer }),
    )
    sent.setTimeout(idleMs, () =>
      sent.destroy(new ConnectionFailure('timeout', `the service sent nothing for ${idleMs / 1000} s`)),
    )
    sent.on('error', (cause) =>
      reject(
        cause instanceof ConnectionFailure
          ? cause
          : new ConnectionFailure('not_running', `nothing answers at ${url}: ${cause.message}`, { cause }),
      ),
    )
    // Without a listener, an answer that changes the protocol (101) would be neither a response nor an error.
    sent.on('upgrade', (_, socket) => {
      socket.destroy()
      reject(new ConnectionFailure('bad_answer', 'the service answers by changing the protocol'))
    })
    sent.end(body)
  })
}
