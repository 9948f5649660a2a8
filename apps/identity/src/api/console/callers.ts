/**
 * Who sends a request to the console: a page of the console, which signs it with the key of its browser (RFC 9449), and the
 * person who signed in with that key. The cookie alone proves nothing: a browser sends it to every port of the host.
 */

import { OAuthError } from '@selvedge/protocol'
import type { AddressSet } from '@selvedge/service-kit/address-set'
import { addressOf, createGuard, createLimiter, readGuardedHeaders } from '@selvedge/service-kit/http'
import { requireProof } from '@selvedge/service-kit/http-app'
import type { SharedDpopVerifier } from '@selvedge/service-kit/tokens'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Session, Sessions } from '../../registry/credentials/sessions.ts'
import type { People, Reach } from '../../registry/people/people.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import type { Viewer } from './context.ts'
import { createSessionCookie, type SessionCookie } from './cookie.ts'

export interface CallersParts {
  readonly people: People
  readonly sessions: Sessions
  readonly dpop: SharedDpopVerifier
  readonly audit: Audit
  /** Where people find the console. */
  readonly site: () => URL
  readonly trustedProxies: AddressSet
}

interface ConsoleCaller {
  /** Thumbprint of the key of the browser. */
  readonly jkt: string
  readonly viewer: Viewer | undefined
}

export interface Callers {
  /** @throws OAuthError if the request is not of a page of the console */
  refuseForeign(request: FastifyRequest): void
  /**
   * Checks the proof of a request and uses it up. The answer brings the next nonce.
   *
   * @param body what the proof must cover
   * @throws OAuthError `access_denied`, `invalid_dpop_proof` or `use_dpop_nonce`
   */
  identify(request: FastifyRequest, reply: FastifyReply, body?: string): Promise<ConsoleCaller>
  /** The same of a request that needs a person. @throws OAuthError, also `invalid_token` */
  require(request: FastifyRequest, reply: FastifyReply): Promise<Viewer>
  /** The current data of a person who was identified before; undefined: the session has expired or was signed out. */
  again(viewer: Viewer): Promise<Viewer | undefined>
  /** Value of Set-Cookie. @param secret undefined removes the cookie */
  cookie(secret: string | undefined): string
}

/** Rate limit of audit log entries about one session with a misused cookie. */
const misuse = { burst: 5, perSecond: 1 / 60 }

export function createCallers(parts: CallersParts): Callers {
  const { people, sessions, dpop, audit, site, trustedProxies } = parts
  const records = createLimiter(misuse)

  /** What depends on where the console is, which is known once the service listens. */
  let made: { guard: ReturnType<typeof createGuard>; cookie: SessionCookie; url: string } | undefined
  function own() {
    if (made) return made
    const { port, protocol, hostname, origin } = site()
    const isSecure = protocol === 'https:'
    made = {
      guard: createGuard({
        port: Number(port) || (isSecure ? 443 : 80),
        hosts: [hostname],
        allowedOrigins: [],
      }),
      cookie: createSessionCookie(isSecure),
      url: origin,
    }
    return made
  }

  function refuseForeign(request: FastifyRequest): void {
    const refused = own().guard(readGuardedHeaders(request.raw))
    if (refused) throw new OAuthError('access_denied', refused.message)
  }

  /** Another client has the cookie of a session, or the browser has lost its key. */
  async function recordMisuse({ sessionId, personId, accountId }: Session, request: FastifyRequest) {
    if (records.take(sessionId) > 0) return
    const person = await people.byId(personId)
    await audit.record({
      accountId,
      actor: person?.email ?? '',
      action: 'session.use',
      subject: sessionId,
      address: addressOf(request.raw, trustedProxies),
      outcome: 'refused',
      detail: 'its cookie came without a proof of its key',
    })
  }

  async function viewerFor(request: FastifyRequest, jkt: string | undefined): Promise<Viewer | undefined> {
    const unproven: Session[] = []
    for (const secret of own().cookie.read(request.headers.cookie)) {
      const found = await sessions.find(secret, jkt)
      if (found?.isProven) return toViewer(found)
      if (found) unproven.push(found.session)
    }
    for (const session of unproven) await recordMisuse(session, request)
    return undefined
  }

  async function identify(request: FastifyRequest, reply: FastifyReply, body?: string) {
    refuseForeign(request)
    let jkt: string
    try {
      ;({ jkt } = await requireProof({ dpop, url: own().url }, request, reply, { body }))
    } catch (cause) {
      const code = cause instanceof OAuthError ? cause.code : undefined
      // A page repeats a request without a fresh nonce, with the one that this answer brings.
      if (code !== 'use_dpop_nonce' && code !== 'invalid_dpop_proof') throw cause
      if (code === 'invalid_dpop_proof') await viewerFor(request, undefined)
      // RFC 9449 § 7.1.
      throw new OAuthError(code, (cause as OAuthError).message, { cause, status: 401 })
    }
    return { jkt, viewer: await viewerFor(request, jkt) }
  }

  return {
    refuseForeign,
    identify,
    async require(request, reply) {
      const { viewer } = await identify(request, reply)
      if (!viewer) throw new OAuthError('invalid_token', 'you are not signed in')
      return viewer
    },
    async again(viewer) {
      const found = await sessions.stillThere(viewer.session.sessionId)
      return found && toViewer(found)
    },
    cookie: (secret) => own().cookie.write(secret),
  }
}

function toViewer({ session, reach }: { session: Session; reach: Reach | undefined }): Viewer | undefined {
  if (!reach) return undefined
  const { person, memberships } = reach
  const membership = memberships.find((each) => each.accountId === session.accountId) ?? memberships[0]
  return membership && { session, person, membership, memberships }
}
