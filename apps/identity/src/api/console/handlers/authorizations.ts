import { OAuthError, RpcError } from '@selvedge/protocol'
import type { AuthorizationStep, Consent } from '@selvedge/protocol/console'
import { onOneLine } from '@selvedge/protocol/redaction'
import { type Scope, scopes } from '@selvedge/protocol/tokens'
import type { Accounts } from '../../../registry/people/accounts.ts'
import type { People } from '../../../registry/people/people.ts'
import type { Audit, AuditEntry } from '../../../storage/audit/audit.ts'
import type { Authorizations, Begun } from '../../../tokens/authorize/authorizations.ts'
import { answerUrl, RefusedRequest } from '../../../tokens/authorize/refused-request.ts'
import type { AuthorizationRequest } from '../../../tokens/authorize/request.ts'
import type { Visitor } from '../../../tokens/authorize/visitor.ts'
import { auditOf, type ConsoleContext, type ConsoleHandlers, type Viewer } from '../context.ts'

export interface AuthorizationParts {
  readonly authorizations: Authorizations
  readonly accounts: Pick<Accounts, 'byId'>
  readonly audit: Audit
  readonly people: Pick<People, 'hasOwnSignIn'>
  readonly issuer: () => string
}

/** Requests of apps that people sign in to. */
export function authorizationHandlers({
  authorizations,
  accounts,
  audit,
  issuer,
  people,
}: AuthorizationParts) {
  const visitorOf = createVisitorOf(people)
  /** A refusal is sent to the app if its address is known; if not, the person sees it. */
  async function answered(work: () => Promise<AuthorizationStep>): Promise<AuthorizationStep> {
    try {
      return await work()
    } catch (cause) {
      if (!(cause instanceof RefusedRequest)) throw cause
      const { error, returnTo, message } = cause
      return returnTo
        ? { step: 'return', to: answerUrl(returnTo, issuer(), { error }), appName: '' }
        : { step: 'refused', reason: message }
    }
  }

  return {
    'authorization.begin': ({ query, ticket }, _caller, context) =>
      answered(async () => {
        const { viewer } = context
        const visitor = viewer && (await visitorOf(viewer, context))
        const begun = await authorizations.begin(query, visitor, ticket ?? undefined)
        const { request, step } = begun
        if (step === 'sign_in') return { step, ticket: begun.ticket, loginHint: request.loginHint }
        if (step === 'consent')
          return { step, ticket: begun.ticket, consent: await describeConsent(begun, viewer!, accounts) }
        if (step !== 'grant')
          return returnWith(
            request,
            authorizations.refuse(request, new OAuthError(step, silentRefusals[step])),
          )
        const entry = entryOf(begun, viewer!, context, 'ok')
        return returnWith(request, authorizations.approve(begun, visitor!, entry))
      }),
    'authorization.decide': ({ query, ticket, approve }, viewer, context) =>
      answered(async () => {
        const visitor = await visitorOf(viewer, context)
        const begun = await authorizations.begin(query, visitor, ticket)
        const { request, obstacle } = begun
        if (begun.ticket !== ticket)
          return { step: 'refused', reason: 'the page was open for too long; start again in the app' }
        if (!approve) {
          await audit.record(entryOf(begun, viewer, context, 'refused'))
          const error = new OAuthError('access_denied', 'the person refused')
          return returnWith(request, authorizations.refuse(request, error))
        }
        if (obstacle !== undefined) throw new RpcError('forbidden', obstacle)
        if (authorizations.needsSignIn(begun, visitor))
          throw new RpcError('step_up_required', 'the app needs a new sign-in')
        const entry = entryOf(begun, viewer, context, 'ok')
        return returnWith(request, authorizations.approve(begun, visitor, entry))
      }),
  } satisfies ConsoleHandlers
}

const returnWith = async (
  { project }: AuthorizationRequest,
  to: Promise<string>,
): Promise<AuthorizationStep> => ({ step: 'return', to: await to, appName: onOneLine(project.name) })

/** The decision, for the audit log. */
function entryOf(
  { request: { project, node }, accountId }: Begun,
  viewer: Viewer,
  context: ConsoleContext,
  outcome: AuditEntry['outcome'],
): AuditEntry {
  const detail = node ? `${project.name} for ${node.node_name}` : project.name
  const entry = auditOf(viewer, context, 'authorization.decide', project.clientId, { detail, outcome })
  return { ...entry, accountId: accountId || entry.accountId }
}

/** The request of an app, for the person who decides. */
async function describeConsent(
  { request, obstacle, accountId }: Begun,
  viewer: Viewer,
  accounts: AuthorizationParts['accounts'],
): Promise<Consent> {
  const { project, redirectUri, scope, node } = request
  return {
    // Names of strangers: they may neither reorder nor hide the text beside them.
    appName: onOneLine(project.name),
    appAccount: project.accountId === '' ? '' : (await accounts.byId(project.accountId)).email,
    isOwn: viewer.memberships.some((each) => each.accountId === project.accountId),
    accountName: viewer.memberships.find((each) => each.accountId === accountId)?.name ?? '',
    returnsTo: placeOf(redirectUri),
    scopes: scope.split(' ').map((name) => ({ name, meaning: scopes[name as Scope] ?? '' })),
    device: node ? { nodeId: node.node_id, name: onOneLine(node.node_name), isNew: node.sub === '' } : null,
    obstacle: obstacle ?? null,
  }
}

/** Answers to an app that wants one without a person. */
const silentRefusals = {
  login_required: 'no person is signed in, or the person has to sign in again',
  consent_required: 'the person has to approve the app first',
  access_denied: 'the person who is signed in cannot approve the request',
} as const

const createVisitorOf =
  (people: AuthorizationParts['people']) =>
  async (
    { person, session, membership, memberships }: Viewer,
    context: ConsoleContext,
  ): Promise<Visitor> => ({
    person: { personId: person.personId, email: person.email },
    sessionId: session.sessionId,
    authTime: session.authTime,
    accountId: membership.accountId,
    accountIds: memberships.map(({ accountId }) => accountId),
    boundTo:
      session.companyId !== '' && (await people.hasOwnSignIn(person.personId))
        ? membership.accountId
        : undefined,
    described: `${context.userAgent || 'a browser'} from ${context.address}`,
  })

/** The destination of a browser, for a person: the host of a page, or the scheme of a program. */
function placeOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri)
  return protocol === 'https:' || protocol === 'http:' ? host : protocol.slice(0, -1)
}
