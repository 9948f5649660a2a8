/** `fetch` for services that the operator configured, through the proxy and with the authorities of the settings. */
import type { Agent, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { safely } from '../safely/safely.ts'
import type { Outbound } from './network.ts'
import { startRequest } from './start-request.ts'

export type GetFetch = (
  url: string,
  init: {
    readonly headers?: Readonly<Record<string, string>>
    readonly signal: AbortSignal
    readonly redirect: 'error'
  },
) => Promise<Response>

/** Interim responses (1xx) before the answer. */
const maxInterim = 16

/**
 * @returns `fetch` for GET
 * @throws (the function) Error with the reason; a redirect and a compressed answer are errors
 */
export const createOutboundFetch =
  (outbound: Outbound): GetFetch =>
  (url, init) => {
    const once = () => get(url, init, outbound.agentFor(url, 'service'))
    // A connection that waited may be closed in the instant in which it is used again.
    return once().catch((cause: { readonly wasReused?: true }) => {
      if (cause.wasReused && !init.signal.aborted) return once()
      throw cause
    })
  }

function get(url: string, { headers, signal }: Parameters<GetFetch>[1], agent: Agent): Promise<Response> {
  return new Promise((resolve, reject) => {
    const ownHeaders = { ...headers, 'accept-encoding': 'identity' }
    const request = startRequest(url, { headers: ownHeaders, agent, signal })
    let interim = 0
    const refuse = (why: string) => request.destroy(new Error(`${url} ${why}`))
    request.on(
      'information',
      safely('fetch.information', () => {
        if (++interim > maxInterim) refuse('announces its answer without end')
      }),
    )
    request.on(
      'upgrade',
      safely('fetch.upgrade', (_: IncomingMessage, socket) => {
        socket.destroy()
        reject(new Error(`${url} answers by changing the protocol`))
      }),
    )
    request.on(
      'response',
      safely('fetch.response', (answer: IncomingMessage) => resolve(responseOf(answer, url)), reject),
    )
    // Stays: what comes after the answer was given up has no other listener.
    request.on('error', reject)
    // A request that still waits for its connection has no error before that is there.
    signal.addEventListener(
      'abort',
      safely('fetch.abort', () => reject(signal.reason)),
      { once: true },
    )
    request.end()
  })
}

/** Statuses of answers without a body (Fetch standard, null body status). */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304])

/** @throws Error for a redirect, a compressed answer, or a status that no answer has */
function responseOf(answer: IncomingMessage, url: string): Response {
  const { statusCode: status = 0, headers } = answer
  const encoding = headers['content-encoding'] ?? 'identity'
  const isRedirect = status >= 300 && status < 400 && headers.location !== undefined
  if (isRedirect || encoding !== 'identity' || status < 200 || status > 599) {
    answer.destroy()
    if (isRedirect) throw new Error(`${url} answered with a redirect (HTTP ${status}), which is not followed`)
    throw new Error(`${url} answered HTTP ${status} with the encoding ${encoding.slice(0, 40)}`)
  }
  const type = headers['content-type']
  if (withoutBody.has(status)) answer.resume()
  const body = withoutBody.has(status) ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
  const response = new Response(body, { status, ...(type && { headers: { 'content-type': type } }) })
  Object.defineProperty(response, 'url', { value: url })
  return response
}
