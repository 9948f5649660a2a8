/** Which pages a browser lets call: those that the configuration names, and the page of this listener. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { formerSocketPath, openRpcPath, rpcPath } from '@selvedge/protocol'

import { createGuard, type GuardedHeaders, type GuardOptions, type Refusal } from './guard.ts'
import { createOwnPage } from './own-page.ts'
import { pathOf } from './target.ts'

export interface PageGate {
  /** Checks the headers of a request, before its body is read. */
  check(request: IncomingMessage, headers: GuardedHeaders): Refusal | undefined
  /**
   * Sets the headers with which a browser shows the answer to an admitted page.
   *
   * @returns whether the request was a preflight, and is answered
   */
  answerPreflight(request: IncomingMessage, headers: GuardedHeaders, response: ServerResponse): boolean
}

/** Whether a target is the path of calls: clients add a query, or a slash at its end. */
export const isCallPath = (url = ''): boolean => url === rpcPath || isAt(rpcPath, url)

/**
 * Whether a target is one of the paths for calls over WebSocket. Without a query: what a client puts there is a token, which is
 * read from nowhere but the headers, and would be in the logs of proxies.
 */
export const isSocketPath = (url = ''): boolean =>
  !url.includes('?') && (isCallPath(url) || isAt(formerSocketPath, url))

function isAt(path: string, url: string): boolean {
  if (!url.startsWith(path)) return false
  const rest = pathOf({ url }).slice(path.length)
  return rest === '' || rest === '/'
}

/** @param pageNonce that the page of this listener sends; undefined: it has no page */
export function createPageGate(guard: GuardOptions, pageNonce: string | undefined): PageGate {
  const checkHeaders = createGuard(guard)
  const allowedOrigins = new Set(guard.allowedOrigins)
  const ownPage = createOwnPage(pageNonce, guard.allowedOrigins)
  const isOwnPage = (request: IncomingMessage, headers: GuardedHeaders): boolean =>
    headers.origin === 'null' &&
    isCallPath(request.url) &&
    (ownPage.isCaller(headers) || ownPage.isPreflight(request, headers))

  return {
    check(request, headers) {
      if (isOwnPage(request, headers)) return checkHeaders(withoutPage(headers))
      return checkHeaders(headers) ?? (isCall(request.url) ? ownPage.refuseOthers(headers) : undefined)
    },
    answerPreflight(request, headers, response) {
      const { origin } = headers
      if (origin === undefined) return false
      if (allowedOrigins.has(origin)) allowPage(response, origin)
      else if (isOwnPage(request, headers)) ownPage.allow(response)
      else return false
      if (request.method !== 'OPTIONS') return false
      response.writeHead(204).end()
      return true
    },
  }
}

/** Also everything below the path, such as events: a router may normalize the rest. */
const isCall = (url = ''): boolean =>
  isCallPath(url) || isSocketPath(url) || (url.startsWith(`${rpcPath}/`) && url !== openRpcPath)

/** For a request of the own page: host and repeated headers are checked as for every other. */
const withoutPage = (headers: GuardedHeaders): GuardedHeaders => ({
  ...headers,
  origin: undefined,
  referer: undefined,
  fetchSite: undefined,
})

/** CORS for a page of an origin that the configuration names, and for no other (Fetch Standard § 3.2). */
function allowPage(response: ServerResponse, origin: string): void {
  response.setHeader('Access-Control-Allow-Origin', origin)
  response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
  response.setHeader('Access-Control-Allow-Headers', 'Content-Type, Authorization, DPoP')
  response.setHeader('Access-Control-Expose-Headers', 'DPoP-Nonce')
  response.setHeader('Access-Control-Max-Age', '600')
  response.setHeader('Vary', 'Origin')
}
