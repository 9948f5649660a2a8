/** The authorization endpoint without its pages: reads requests, decides what happens next, and issues codes. */
import { OAuthError } from '@selvedge/protocol'
import type { Clock } from '@selvedge/service-kit/clock'
import type { AuthorizationCodes } from '../../registry/sign-ins/authorization-codes.ts'
import type { PushedRequests } from '../../registry/sign-ins/pushed-requests.ts'
import type { Audit, AuditEntry } from '../../storage/audit/audit.ts'
import { isFresh, type NextStep, nextStep } from './next-step.ts'
import { answerUrl, RefusedRequest } from './refused-request.ts'
import {
  type AuthorizationRequest,
  createReadRequest,
  type ReadRequest,
  type ReadRequestParts,
} from './request.ts'
import type { Tickets } from './tickets.ts'
import { consentSubject, createReadStanding, type StandingParts, type Visitor } from './visitor.ts'

/** A request, and what happens next with it. */
export interface Begun {
  readonly request: AuthorizationRequest
  readonly step: NextStep
  /** Why the person cannot approve; undefined if the person can. */
  readonly obstacle: string | undefined
  /** Account that the app would act for; "" without a person. */
  readonly accountId: string
  /** Names the request and when the browser first came with it. */
  readonly ticket: string
}

export interface Authorizations {
  /** @throws RefusedRequest */
  read: ReadRequest
  /**
   * @param ticket of an earlier call with the same query; undefined at first
   * @throws RefusedRequest
   */
  begin(query: string, visitor: Visitor | undefined, ticket: string | undefined): Promise<Begun>
  /** Whether the person has to sign in again before an approval. */
  needsSignIn(begun: Begun, visitor: Visitor): boolean
  /**
   * Issues a code, once for a pushed request.
   *
   * @param entry of the audit log, written with the code
   * @returns the URL of the answer
   * @throws RefusedRequest
   */
  approve(begun: Begun, visitor: Visitor, entry: AuditEntry): Promise<string>
  /** @returns the URL of an answer with an error. A pushed request is used up */
  refuse(request: AuthorizationRequest, error: OAuthError): Promise<string>
}

export interface AuthorizationsParts extends ReadRequestParts, StandingParts {
  readonly clock: Clock
  readonly pushedRequests: PushedRequests
  readonly authorizationCodes: AuthorizationCodes
  readonly tickets: Tickets
  readonly audit: Pick<Audit, 'statement'>
}

/** Milliseconds: for what acts on a device, a person has signed in this recently, as for the approval of a terminal. */
const recentMs = 600_000

export function createAuthorizations(parts: AuthorizationsParts): Authorizations {
  const { clock, tickets, issuer, appConsents: consents } = parts
  const read = createReadRequest(parts)
  const readStanding = createReadStanding(parts)

  async function expectUnused({ requestUri, project: { clientId } }: AuthorizationRequest): Promise<void> {
    if (requestUri === undefined || (await parts.pushedRequests.use(requestUri, clientId))) return
    const error = new OAuthError('invalid_request_uri', 'the request was used before; start again in the app')
    throw new RefusedRequest(error)
  }

  return {
    read,
    async begin(query, visitor, given) {
      const request = await read(query)
      const known = given === undefined ? undefined : tickets.read(query, given)
      const ticket = known === undefined ? tickets.make(query) : given!
      const times = { now: clock.now(), seenAt: known ?? clock.now() }
      if (!visitor)
        return {
          request,
          step: nextStep(request, undefined, times),
          obstacle: undefined,
          accountId: '',
          ticket,
        }
      const { standing, accountId } = await readStanding(request, visitor)
      const step = nextStep(request, standing, times)
      return { request, step, obstacle: standing.obstacle, accountId, ticket }
    },
    needsSignIn({ request, ticket }, { authTime }) {
      const now = clock.now()
      const seenAt = Number(ticket.split('.')[0])
      if (!isFresh(request, { authTime }, { now, seenAt })) return true
      return request.node !== undefined && now - authTime > recentMs
    },
    async approve(begun, visitor, entry) {
      const { request, accountId } = begun
      const { project, redirectUri, challenge, jkt, scope, audience, nonce, node } = request
      await expectUnused(request)
      try {
        const authorized = {
          clientId: project.clientId,
          redirectUri,
          challenge,
          jkt,
          scope,
          audience,
          nonce,
          nodeId: node?.node_id ?? '',
          accountId,
          ...visitor.person,
          authTime: Math.floor(visitor.authTime / 1000),
          described: visitor.described,
        }
        const subject = consentSubject(request, visitor, accountId)
        const code = await parts.authorizationCodes.create(authorized, (isIssued) => [
          parts.audit.statement(entry, isIssued),
          ...(node ? [] : [consents.remember(subject, scope, isIssued)]),
        ])
        return answerUrl(request, issuer(), { code })
      } catch (cause) {
        if (cause instanceof OAuthError) throw new RefusedRequest(cause, request)
        throw cause
      }
    },
    async refuse(request, error) {
      await expectUnused(request)
      return answerUrl(request, issuer(), { error })
    },
  }
}
