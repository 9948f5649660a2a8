import type { ConsoleInput } from '@selvedge/protocol/console'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Audit } from '../../audit/audit.ts'
import type { OneTime } from '../../registry/one-time.ts'
import type { People } from '../../registry/people.ts'
import type { Revocations } from '../../revocation/revocations.ts'
import { auditOf, type ConsoleContext, done, viewerOf } from '../context.ts'

export interface AccountParts {
  readonly clock: Clock
  readonly people: People
  readonly oneTime: OneTime
  readonly revocations: Revocations
  readonly audit: Audit
  /** Where people find the console. */
  readonly consoleUrl: () => string
}

/** Seconds for which an invitation is good. */
const invitationLife = 7 * 86_400

/** The account and its people. */
export function accountHandlers(parts: AccountParts) {
  const { people, audit } = parts
  const accountOf = (context: ConsoleContext) => viewerOf(context).membership.accountId

  return {
    'member.list': (_: unknown, context: ConsoleContext) => people.members(accountOf(context)),
    'member.invite': async ({ role }: ConsoleInput<'member.invite'>, context: ConsoleContext) => {
      const secret = await parts.oneTime.create(
        'invitation',
        { accountId: accountOf(context), role },
        invitationLife,
      )
      await audit.record(auditOf(context, 'member.invite', '', { detail: role }))
      return {
        // After the #: it is never sent, so it is in no log and no Referer.
        link: `${parts.consoleUrl()}/join#${secret}`,
        expiresAt: isoTime(parts.clock.now() + invitationLife * 1000),
      }
    },
    'member.set_role': async (
      { personId, role }: ConsoleInput<'member.set_role'>,
      context: ConsoleContext,
    ) => {
      await people.setRole(accountOf(context), personId, role)
      await audit.record(auditOf(context, 'member.set_role', personId, { detail: role }))
      return done
    },
    'member.remove': async ({ personId }: ConsoleInput<'member.remove'>, context: ConsoleContext) => {
      await people.remove(accountOf(context), personId)
      await audit.record(auditOf(context, 'member.remove', personId))
      return done
    },
    'account.revoke_all': async (_: unknown, context: ConsoleContext) => {
      await parts.revocations.revokeAll('account', accountOf(context))
      await audit.record(auditOf(context, 'account.revoke_all'))
      return done
    },
    'audit.list': ({ before }: ConsoleInput<'audit.list'>, context: ConsoleContext) =>
      audit.list(accountOf(context), 100, before ?? undefined),
  }
}
