import type { People } from '../../../registry/people/people.ts'
import type { Revocations } from '../../../registry/revocation/revocations.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { auditOf, type ConsoleHandlers, done, type Viewer } from '../context.ts'

export interface AccountParts {
  readonly people: People
  readonly revocations: Revocations
  readonly audit: Audit
}

/** The account and its people. */
export function accountHandlers(parts: AccountParts) {
  const { people, audit } = parts
  const accountOf = ({ membership }: Viewer) => membership.accountId

  return {
    'member.list': (_, viewer) => people.members(accountOf(viewer)),
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
