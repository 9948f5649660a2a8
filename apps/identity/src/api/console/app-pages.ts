/**
 * The pages that apps send a browser to: the authorization endpoint (RFC 6749 § 3.1) and the logout endpoint. Each is the page of the
 * console, at the address that the app made: nothing is stored before a person decides.
 */
import { identityPaths, OAuthError } from '@selvedge/protocol'
import { addFormRoutes, textBodyOf } from '@selvedge/service-kit/http-app'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Authorizations } from '../../tokens/authorize/authorizations.ts'
import { answerUrl, RefusedRequest } from '../../tokens/authorize/refused-request.ts'
import type { ShowPage } from './pages.ts'

export interface AppPagesParts {
  readonly authorizations: Pick<Authorizations, 'read'>
  readonly issuer: () => string
  /** Where people find the console. */
  readonly site: () => URL
  /** Shows the page of the console; undefined: the pages were not built, and these addresses do not exist. */
  readonly show: ShowPage | undefined
}

/** Characters of a query: what a page passes on to the API, and fits into the headers of a request. */
const maxQueryLength = 12_000

export function addAppPages(app: FastifyInstance, parts: AppPagesParts): void {
  const { authorizations, issuer, site, show } = parts
  if (!show) return

  /** The session of the console is at one host name; the issuer may have another one. */
  const isElsewhere = ({ headers: { host = '' } }: FastifyRequest): boolean =>
    host.replace(/:\d+$/, '').toLowerCase() !== site().hostname

  const authorize = async (request: FastifyRequest, reply: FastifyReply) => {
    if (isElsewhere(request)) return reply.redirect(site().origin + request.url, 307)
    try {
      await authorizations.read(expectShort(queryOf(request)))
    } catch (cause) {
      if (!(cause instanceof RefusedRequest)) throw cause
      const { error, returnTo } = cause
      reply.header('Referrer-Policy', 'no-referrer')
      if (returnTo) return reply.redirect(answerUrl(returnTo, issuer(), { error }), 303)
      // The person sees the reason; a program gets the usual answer.
      if (!request.headers.accept?.includes('text/html')) throw error
      reply.code(400)
    }
    return show(request, reply)
  }

  app.get(identityPaths.authorize, authorize)
  app.get(identityPaths.endSession, (request, reply) => {
    if (isElsewhere(request)) return reply.redirect(site().origin + request.url, 307)
    return show(request, reply)
  })
  // A form becomes a query: the page reads its own address (OpenID Connect Core 1.0 § 3.1.2.1).
  addFormRoutes(app, (routes) => {
    for (const path of [identityPaths.authorize, identityPaths.endSession])
      routes.post(path, async (request, reply) => {
        const query = expectShort(textBodyOf(request))
        if (!/^[!-~]*$/.test(query)) throw new OAuthError('invalid_request', 'the body is not a form')
        return reply.redirect(`${site().origin}${path}?${query}`, 303)
      })
  })
}

function queryOf({ url }: FastifyRequest): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

/** @throws OAuthError `invalid_request` */
function expectShort(query: string): string {
  if (query.length <= maxQueryLength) return query
  throw new OAuthError(
    'invalid_request',
    `the request has more than ${maxQueryLength} characters; push it to /par`,
  )
}
