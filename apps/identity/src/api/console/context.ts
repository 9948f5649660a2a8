import { type PersonAccess, RpcError } from '@selvedge/protocol'
import type { ConsoleMethods } from '@selvedge/protocol/console'
import type { HandlersOf } from '@selvedge/protocol/jsonrpc'
import type { Clock } from '@selvedge/service-kit/clock'
import type { Limiter } from '@selvedge/service-kit/http'
import type { Session } from '../../registry/credentials/sessions.ts'
import type { Membership, Person } from '../../registry/people/people.ts'
import type { DeveloperSubject } from '../../registry/projects/developer-tokens.ts'
import type { AuditEntry } from '../../storage/audit/audit.ts'

/** A person who is signed in. */
export interface Viewer {
  readonly session: Session
  readonly person: Person
  readonly membership: Membership
  readonly memberships: readonly Membership[]
}

/** A person of an account who acts, at a page of the console or by the command line. */
export type Actor = Pick<Viewer, 'person' | 'membership'>

/** What the transport passes to a handler about the caller, and what the handler passes back. */
export interface ConsoleContext {
  /** For the log. */
  readonly requestId: string
  readonly viewer: Viewer | undefined
  /** Thumbprint of the key that signed the request; a session that begins is bound to it. */
  readonly jkt: string
  readonly address: string
  readonly userAgent: string
  /** Secret of a new session for the cookie; null removes the cookie. */
  newSession?: string | null
  /** Seconds until the client may try again, for a response with HTTP 429. */
  retryAfter?: number
}

/** The caller that a handler gets, by the kind that its method declares. */
export interface ConsoleCallers {
  readonly anyone: undefined
  readonly person: Viewer
}

/** Handlers of a part of the console's API; together they have to be all of it. */
export type ConsoleHandlers = Partial<HandlersOf<ConsoleMethods, ConsoleCallers, ConsoleContext>>

/** Milliseconds for which a sign-in counts as recent. */
const recentMs = 600_000

/** @returns who calls. @throws RpcError `signed_out`, `forbidden` or `step_up_required` */
export function checkPerson(
  { session, role }: PersonAccess,
  { viewer }: ConsoleContext,
  clock: Clock,
): Viewer {
  if (!viewer) throw new RpcError('signed_out', 'you are not signed in')
  const { session: own, membership } = viewer
  if (role === 'owner' && membership.role !== 'owner')
    throw new RpcError('forbidden', `this is for owners of the account; you are a ${membership.role}`)
  if (session === 'recent' && clock.now() - own.authTime > recentMs)
    throw new RpcError('step_up_required', 'your sign-in is older than ten minutes')
  return viewer
}

/** A company vouches for its own account only: it must neither add a way in that stays without it, nor lead to another account. @throws RpcError `forbidden` */
export function expectLocal(viewer: Viewer): Viewer {
  if (viewer.session.companyId === '') return viewer
  throw new RpcError('forbidden', 'you signed in with your company, which vouches for its own account only', {
    hint: 'Sign in with a passkey or password first.',
  })
}

/** Uses one of a key's requests. @throws RpcError `busy`, with the time to wait in the context */
export function expectTurn(limiter: Limiter, key: string, context: ConsoleContext, what: string): void {
  const wait = limiter.take(key)
  if (wait === 0) return
  context.retryAfter = wait
  throw new RpcError('busy', `too many ${what}; wait ${wait} seconds`)
}

/** An entry of the audit log by a person who is signed in. */
export function auditOf(
  { person, membership }: Actor,
  { address }: Pick<ConsoleContext, 'address'>,
  action: string,
  subject = '',
  more: Partial<Pick<AuditEntry, 'detail' | 'outcome'>> = {},
): AuditEntry {
  const { accountId } = membership
  return { accountId, actor: person.email, action, subject, address, outcome: 'ok', ...more }
}

/** Characters of each side of a change in the audit log. */
const maxSideCharacters = 250

/** A change in words, for the audit log. @returns "before → after" */
export const beforeAndAfter = (before: string, after: string): string => `${side(before)} → ${side(after)}`

const side = (text: string): string =>
  text === '' ? '—' : text.length > maxSideCharacters ? `${text.slice(0, maxSideCharacters)}…` : text

/** The person for whom a token is issued. */
export const subjectOf = ({ person, membership, session }: Viewer): DeveloperSubject => ({
  accountId: membership.accountId,
  personId: person.personId,
  email: person.email,
  authTime: Math.floor(session.authTime / 1000),
})

export const done = { done: true } as const
