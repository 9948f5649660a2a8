import { createLimiter } from '@selvedge/service-kit/http'
import type { People } from '../../../registry/people/people.ts'
import type { Revocations } from '../../../registry/revocation/revocations.ts'
import type { Audit } from '../../../storage/audit/audit.ts'
import { auditOf, beforeAndAfter, type ConsoleHandlers, done, expectTurn, type Viewer } from '../context.ts'

export interface AccountParts {
  readonly people: People
  readonly revocations: Revocations
  readonly audit: Audit
}

/** Searches of one person in the audit log: each reads the rows of the whole account. */
const searchRate = { burst: 30, perSecond: 2 }

/** The account and its people. */
export function accountHandlers(parts: AccountParts) {
  const { people, audit } = parts
  const searches = createLimiter(searchRate)
  const accountOf = ({ membership }: Viewer) => membership.accountId

  return {
    'member.list': (_, viewer) => people.members(accountOf(viewer)),
    'member.set_role': async ({ personId, role }, viewer, context) => {
      const known = (await people.members(accountOf(viewer))).find((each) => each.personId === personId)
      await people.setRole(accountOf(viewer), personId, role)
      const detail = `${known?.email ?? ''}: ${beforeAndAfter(known?.role ?? '', role)}`
      await audit.record(auditOf(viewer, context, 'member.set_role', personId, { detail }))
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
    'audit.list': ({ before, ...filter }, viewer, context) => {
      if (filter.search !== undefined) expectTurn(searches, viewer.person.personId, context, 'searches')
      return audit.list(accountOf(viewer), 100, before ?? undefined, filter)
    },
  } satisfies ConsoleHandlers
}
