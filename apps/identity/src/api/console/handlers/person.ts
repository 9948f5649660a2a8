import { RpcError, version } from '@selvedge/protocol'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Passkeys } from '../../../registry/credentials/passkeys.ts'
import { type Passwords, problemOf } from '../../../registry/credentials/passwords.ts'
import type { RecoveryCodes } from '../../../registry/credentials/recovery-codes.ts'
import type { Sessions } from '../../../registry/credentials/sessions.ts'
import type { Companies } from '../../../registry/people/companies.ts'
import type { People } from '../../../registry/people/people.ts'
import type { Registry } from '../../../registry/registry.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import {
  auditOf,
  type ConsoleContext,
  type ConsoleHandlers,
  done,
  expectLocal,
  type Viewer,
} from '../context.ts'

export interface PersonParts {
  readonly people: People
  readonly sessions: Sessions
  readonly passkeys: Passkeys
  readonly passwords: Passwords
  readonly recoveryCodes: RecoveryCodes
  readonly companies: Pick<Companies, 'byId'>
  readonly expiringTokens: Registry['expiringTokens']
  readonly audit: Audit
  readonly identityUrl: () => string
  readonly discoveryUrl: string
}

/** A person's own sessions and sign-in methods. */
export function personHandlers(parts: PersonParts) {
  const { people, sessions, passkeys, passwords, recoveryCodes, companies, audit } = parts

  const companyOf = async (companyId: string | undefined) =>
    companyId ? ((await companies.byId(companyId))?.domain ?? null) : null

  /** A company learns nothing of the person's sign-ins without it, and does not end them. */
  async function sessionsFor({ person, session: { companyId } }: Viewer) {
    const all = await sessions.list(person.personId)
    return companyId === '' ? all : all.filter((each) => each.companyId === companyId)
  }

  async function describe({ viewer }: ConsoleContext) {
    if (!viewer) return null
    const { session, person, membership, memberships } = viewer
    const { personId, email, password } = person
    return {
      personId,
      email,
      accountId: membership.accountId,
      accounts: memberships,
      role: membership.role,
      authTime: isoTime(session.authTime),
      company: await companyOf(session.companyId),
      hasPassword: password !== '',
      passkeys: (await passkeys.list(personId)).length,
      recoveryCodes: await recoveryCodes.left(personId),
      hadRecoveryCodes: await recoveryCodes.hadAny(personId),
      expiringTokens: await parts.expiringTokens({ accountId: membership.accountId, personId }),
    }
  }

  return {
    'session.get': async (_params, _caller, context) => ({
      viewer: await describe(context),
      needsOwner: !context.viewer && !(await people.anyCredential()),
      identityUrl: parts.identityUrl(),
      discoveryUrl: parts.discoveryUrl,
      version,
    }),
    'session.end': async (_params, _caller, context) => {
      const { viewer } = context
      if (viewer) await sessions.end(viewer.person.personId, viewer.session.sessionId)
      context.newSession = null
      return done
    },
    'session.list': async (_, viewer) => {
      const all = await sessionsFor(viewer)
      return all.map(({ personId: _person, accountId: _account, companyId: _company, ...each }) => ({
        ...each,
        isCurrent: each.sessionId === viewer.session.sessionId,
      }))
    },
    'session.revoke': async ({ sessionId }, viewer, context) => {
      const isOwn = (await sessionsFor(viewer)).some((each) => each.sessionId === sessionId)
      if (!isOwn || !(await sessions.end(viewer.person.personId, sessionId)))
        throw new RpcError('not_found', 'you have no such session')
      await audit.record(auditOf(viewer, context, 'session.revoke', sessionId))
      return done
    },
    'session.switch': async ({ accountId }, { session, memberships }) => {
      const isReached = memberships.some((each) => each.accountId === accountId)
      if (!isReached || !(await sessions.switchTo(session.sessionId, accountId)))
        throw new RpcError('not_found', 'you are not a member of this account')
      return done
    },
    'passkey.begin': (_, viewer) => passkeys.beginRegistration(expectLocal(viewer).person),
    'passkey.finish': async ({ challenge, response, name }, viewer, context) => {
      await passkeys.finishRegistration(expectLocal(viewer).person, challenge, response, name)
      await audit.record(auditOf(viewer, context, 'passkey.create', '', { detail: name }))
      return done
    },
    'passkey.list': (_, viewer) => passkeys.list(viewer.person.personId),
    'passkey.remove': async ({ credentialId }, viewer, context) => {
      await passkeys.remove(expectLocal(viewer).person, credentialId)
      await audit.record(auditOf(viewer, context, 'passkey.remove', credentialId))
      return done
    },
    'password.set': async ({ password }, viewer, context) => {
      const { person, session } = expectLocal(viewer)
      const problem = await problemOf(password, person.email)
      if (problem !== undefined)
        throw new RpcError('invalid_params', `the password is not accepted: ${problem}`, {
          hint: 'Choose another one.',
        })
      await people.setPassword(person.personId, await passwords.hash(password), session.sessionId)
      await audit.record(auditOf(viewer, context, 'password.set'))
      return done
    },
    'recovery.create': async (_, viewer, context) => {
      const codes = await recoveryCodes.create(expectLocal(viewer).person.personId)
      await audit.record(auditOf(viewer, context, 'recovery.create'))
      return { codes }
    },
  } satisfies ConsoleHandlers
}
