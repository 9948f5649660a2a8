import { RpcError } from '@selvedge/protocol'
import type { ConsoleInput } from '@selvedge/protocol/console'
import { isoTime } from '@selvedge/service-kit/clock'
import type { Audit } from '../../audit/audit.ts'
import type { People } from '../../registry/people.ts'
import { auditOf, type ConsoleContext, done, viewerOf } from '../context.ts'
import type { Passkeys } from '../passkeys.ts'
import { type Passwords, problemOf } from '../passwords.ts'
import type { RecoveryCodes } from '../recovery-codes.ts'
import type { Sessions } from '../sessions.ts'

export interface PersonParts {
  readonly people: People
  readonly sessions: Sessions
  readonly passkeys: Passkeys
  readonly passwords: Passwords
  readonly recoveryCodes: RecoveryCodes
  readonly audit: Audit
  readonly identityUrl: () => string
}

/** What a person sees and changes of his own: sessions and ways in. */
export function personHandlers(parts: PersonParts) {
  const { people, sessions, passkeys, passwords, recoveryCodes, audit } = parts

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
      hasPassword: password !== '',
      passkeys: (await passkeys.list(personId)).length,
      recoveryCodes: await recoveryCodes.left(personId),
    }
  }

  return {
    'session.get': async (_: unknown, context: ConsoleContext) => ({
      viewer: await describe(context),
      needsOwner: !context.viewer && !(await people.anyCredential()),
      identityUrl: parts.identityUrl(),
    }),
    'session.end': async (_: unknown, context: ConsoleContext) => {
      const { viewer } = context
      if (viewer) await sessions.end(viewer.person.personId, viewer.session.sessionId)
      context.newSession = null
      return done
    },
    'session.list': async (_: unknown, context: ConsoleContext) => {
      const { person, session } = viewerOf(context)
      const all = await sessions.list(person.personId)
      return all.map(({ personId: _person, accountId: _account, ...each }) => ({
        ...each,
        isCurrent: each.sessionId === session.sessionId,
      }))
    },
    'session.revoke': async ({ sessionId }: ConsoleInput<'session.revoke'>, context: ConsoleContext) => {
      if (!(await sessions.end(viewerOf(context).person.personId, sessionId)))
        throw new RpcError('not_found', 'you have no such session')
      await audit.record(auditOf(context, 'session.revoke', sessionId))
      return done
    },
    'session.switch': async ({ accountId }: ConsoleInput<'session.switch'>, context: ConsoleContext) => {
      const { session, memberships } = viewerOf(context)
      if (!memberships.some((each) => each.accountId === accountId))
        throw new RpcError('not_found', 'you are no member of this account')
      await sessions.switchTo(session.sessionId, accountId)
      return done
    },
    'passkey.begin': (_: unknown, context: ConsoleContext) =>
      passkeys.beginRegistration(viewerOf(context).person),
    'passkey.finish': async (
      { challenge, response, name }: ConsoleInput<'passkey.finish'>,
      context: ConsoleContext,
    ) => {
      await passkeys.finishRegistration(viewerOf(context).person, challenge, response, name)
      await audit.record(auditOf(context, 'passkey.create', '', { detail: name }))
      return done
    },
    'passkey.list': (_: unknown, context: ConsoleContext) => passkeys.list(viewerOf(context).person.personId),
    'passkey.remove': async ({ credentialId }: ConsoleInput<'passkey.remove'>, context: ConsoleContext) => {
      await passkeys.remove(viewerOf(context).person, credentialId)
      await audit.record(auditOf(context, 'passkey.remove', credentialId))
      return done
    },
    'password.set': async ({ password }: ConsoleInput<'password.set'>, context: ConsoleContext) => {
      const { person, session } = viewerOf(context)
      const problem = await problemOf(password, person.email)
      if (problem !== undefined)
        throw new RpcError('invalid_params', `the password is not accepted: ${problem}`, {
          hint: 'Choose another one.',
        })
      await people.setPassword(person.personId, await passwords.hash(password))
      await sessions.endOthers(person.personId, session.sessionId)
      await audit.record(auditOf(context, 'password.set'))
      return done
    },
    'recovery.create': async (_: unknown, context: ConsoleContext) => {
      const codes = await recoveryCodes.create(viewerOf(context).person.personId)
      await audit.record(auditOf(context, 'recovery.create'))
      return { codes }
    },
  }
}
