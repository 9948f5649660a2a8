/** `fetch` for libraries that talk to a server that a user of this service named. */
import { parseJson } from '@selvedge/protocol/jsonrpc'
import { createGuardedRequest, type GuardedOptions } from './guarded-request.ts'

/** Objects and lists in each other. */
const maxDepth = 16

/** What the libraries that use it pass: a text or a form as the body. */
export interface FetchInit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Largest status of an answer. An OAuth error has a body that matters, too (RFC 6749 § 5.2). */
const maxStatus = 599

/**
 * @returns `fetch` by the rules of {@link createGuardedRequest}, for GET and POST of forms; the body of the answer is strict JSON
 * @throws (the function) Error with the reason and the value
 */
export function createGuardedFetch(
  options: GuardedOptions,
): (url: string, init?: FetchInit) => Promise<Response> {
  const send = createGuardedRequest(options)
  return async (url, { method = 'GET', headers = {}, body } = {}) => {
    if (method !== 'GET' && method !== 'POST') throw new Error(`${method} is not sent to ${url}`)
    if (body !== undefined && body !== null && typeof body !== 'string' && !(body instanceof URLSearchParams))
      throw new Error(`the body for ${url} is neither a text nor a form`)
    const text = body === undefined || body === null ? undefined : String(body)
    const answer = await send(url, { method, headers, ...(text !== undefined && { body: text }) })
    if (answer.status < 200 || answer.status > maxStatus)
      throw new Error(`${url} answered HTTP ${answer.status}`)
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(answer.contentType)
    // Two readers of one text must not understand it differently: a member that comes twice is refused.
    if (isJson) parseJson(new TextDecoder('utf-8', { fatal: true }).decode(answer.body), maxDepth)
    const hasBody = answer.status !== 204 && answer.status !== 205
    return new Response(hasBody ? new Uint8Array(answer.body) : null, {
      status: answer.status,
      headers: { 'content-type': answer.contentType },
    })
  }
}
