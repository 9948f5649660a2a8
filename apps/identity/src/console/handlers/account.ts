import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import type { Audit } from '../../audit/audit.ts'
import type { OneTime } from '../../registry/one-time.ts'
import type { People } from '../../registry/people.ts'
import type { Revocations } from '../../revocation/revocations.ts'
import { auditOf, type ConsoleHandlers, done, type Viewer } from '../context.ts'

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
  const accountOf = ({ membership }: Viewer) => membership.accountId

  return {
    'member.list': (_, viewer) => people.members(accountOf(viewer)),
    'member.invite': async ({ role }, viewer, context) => {
      const secret = await parts.oneTime.create(
        'invitation',
        { accountId: accountOf(viewer), role },
        invitationLife,
      )
      await audit.record(auditOf(viewer, context, 'member.invite', '', { detail: role }))
      return {
        // After the #: it is never sent, so it is in no log and no Referer.
        link: `${parts.consoleUrl()}/join#${secret}`,
        expiresAt: isoTime(parts.clock.now() + invitationLife * 1000),
      }
    },
    'member.set_role': async ({ personId, role }, viewer, context) => {
      await people.setRole(accountOf(viewer), personId, role)
      await audit.record(auditOf(viewer, context, 'member.set_role', personId, { detail: role }))
      return done
    },
    'member.remove': async ({ personId }, viewer, context) => {
      await people.remove(accountOf(viewer), personId)
      await audit.record(auditOf(viewer, context, 'member.remove', personId))
      return done
    },
    'account.revoke_all': async (_, viewer, context) => {
      await parts.revocations.revokeAll('account', accountOf(viewer))
      await audit.record(auditOf(viewer, context, 'account.revoke_all'))
      return done
    },
    'audit.list': ({ before }, viewer) => audit.list(accountOf(viewer), 100, before ?? undefined),
  } satisfies ConsoleHandlers
}
