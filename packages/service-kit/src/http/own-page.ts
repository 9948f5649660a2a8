/**
 * The runtime's own page, and every other page of its origin. Pages of services share the origin if their owner trusts them, so the
 * origin alone lets no page call the API: the own page also sends a nonce that only its HTML contains. The own page has an opaque
 * origin (a sandbox without `allow-same-origin`), so that no page of the same origin can read it; browsers send its calls with
 * `Origin: null`, as those of any sandboxed page, after a preflight request (CORS, Fetch Standard § 3.2).
 */
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GuardedHeaders, Refusal } from './guard.ts'

/** Header with the nonce of the own page. */
export const pageNonceHeader = 'Selvedge-Page-Nonce'

export interface OwnPage {
  /** Whether a call comes from the own page. */
  isCaller(headers: GuardedHeaders): boolean
  /** Whether this is the preflight request of a sandboxed page for a call with a nonce. Any such page may send the call: the nonce decides. */
  isPreflight(request: IncomingMessage, headers: GuardedHeaders): boolean
  /** Lets the browser show the answer to the own page. */
  allow(response: ServerResponse): void
  /** Refuses a call of any other page of this origin. */
  refuseOthers(headers: GuardedHeaders): Refusal | undefined
}

/**
 * @param nonce that the own page sends; undefined if there is no page
 * @param allowedOrigins origins of pages that may call, by configuration
 */
export function createOwnPage(nonce: string | undefined, allowedOrigins: readonly string[]): OwnPage {
  const expected = nonce === undefined ? undefined : Buffer.from(nonce)
  const allowed = new Set(allowedOrigins)

  function isCaller({ pageNonce, origin }: GuardedHeaders): boolean {
    if (expected === undefined || pageNonce === undefined || origin !== 'null') return false
    const shown = Buffer.from(pageNonce)
    return shown.length === expected.length && timingSafeEqual(shown, expected)
  }

  return {
    isCaller,
    isPreflight(request, { origin }) {
      if (request.method !== 'OPTIONS' || origin !== 'null' || expected === undefined) return false
      const { 'access-control-request-headers': asked = '' } = request.headers
      return asked.toLowerCase().includes(pageNonceHeader.toLowerCase())
    },
    allow(response) {
      response.setHeader('Access-Control-Allow-Origin', 'null')
      response.setHeader('Access-Control-Allow-Methods', 'POST')
      response.setHeader('Access-Control-Allow-Headers', `Content-Type, ${pageNonceHeader}`)
      response.setHeader('Vary', 'Origin')
    },
    refuseOthers(headers) {
      const { origin, referer, fetchSite } = headers
      if (origin === undefined && referer === undefined && fetchSite !== 'same-origin') return undefined
      if (origin !== undefined && allowed.has(origin)) return undefined
      if (isCaller(headers)) return undefined
      return {
        status: 403,
        reason: 'foreign_page',
        message:
          'pages of services may not call the API, also not of this origin; name an origin of its own in "allowedOrigins" if it should',
      }
    },
  }
}
