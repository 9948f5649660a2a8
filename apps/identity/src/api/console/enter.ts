/** Begins sessions, for every sign-in method. */
import { RpcError } from '@selvedge/protocol'
import type { KnownBrowsers } from '../../registry/credentials/known-browsers.ts'
import type { CompanySignIn, Sessions } from '../../registry/credentials/sessions.ts'
import type { People, Person } from '../../registry/people/people.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import { type ConsoleContext, done } from './context.ts'

export interface EnterParts {
  readonly people: People
  readonly sessions: Sessions
  readonly audit: Audit
  readonly knownBrowsers: KnownBrowsers
}

/**
 * Begins a session; one that the browser had ends.
 *
 * @param method how the person proved who it is: passkey, password, recovery code, link, or the domain of a company
 * @param accountId account to show; absent: the one before, or the oldest
 * @param company of a sign-in with its provider; absent: a local sign-in
 */
export type Enter = (
  person: Person,
  method: string,
  context: ConsoleContext,
  accountId?: string,
  company?: CompanySignIn,
) => Promise<typeof done>

export function createEnter({ people, sessions, audit, knownBrowsers }: EnterParts): Enter {
  return async (person, method, context, accountId, company) => {
    const { personId, email } = person
    const { viewer, address, userAgent, jkt } = context
    const memberships = await people.reach(personId, company?.companyId ?? '')
    const before = viewer?.person.personId === personId ? viewer.membership.accountId : undefined
    const account = memberships.find((each) => each.accountId === (accountId ?? before)) ?? memberships[0]
    if (!account) throw (await people.memberships(personId)).length > 0 ? needsCompany() : noMembership()
    if (viewer) await sessions.end(viewer.person.personId, viewer.session.sessionId)
    const session = { personId, accountId: account.accountId, method, company, address, userAgent, jkt }
    const secret = await sessions.create(session)
    if (secret === undefined) throw noMembership()
    context.newSession = secret
    await knownBrowsers.remember(personId, jkt)
    const entry = { actor: email, action: 'session.create', address, outcome: 'ok', detail: method } as const
    await audit.record({ accountId: account.accountId, ...entry })
    return done
  }
}

const needsCompany = () =>
  new RpcError('credentials_invalid', 'your account is for sign-ins with the company', {
    hint: 'Use “Sign in with your company”. Owners who were in the account before the company can sign in here.',
  })

const noMembership = () =>
  new RpcError('credentials_invalid', 'you are not a member of any account', {
    hint: 'Ask an owner for an invitation.',
  })
