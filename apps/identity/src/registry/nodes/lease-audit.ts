/** Who worked at a device on a lease, as the device reports it, as rows of the audit log. */
import type { LeaseUse } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { createLimiter } from '@selvedge/service-kit/http'
import { type Statement, sql } from '@selvedge/service-kit/store'
import type { Audit } from '../../storage/audit/audit.ts'
import type { People } from '../people/people.ts'

/** A device that reports without end fills no log: some at once, then twenty an hour. */
const reports = { burst: 40, perSecond: 20 / 3600 }

interface LeaseReport {
  readonly nodeId: string
  /** Account of the device before and after the request: it reports to no other one. */
  readonly accounts: readonly (string | undefined)[]
  readonly uses: readonly LeaseUse[]
  readonly address: string
}

export type LeaseAudit = (report: LeaseReport) => Promise<Statement[]>

export function createLeaseAudit(audit: Audit, people: Pick<People, 'makerOf'>): LeaseAudit {
  const limiter = createLimiter(reports)
  return async ({ nodeId, accounts, uses, address }) => {
    const rows: Statement[] = []
    for (const { account_id: accountId, client_id: client, sid, count, first_at, last_at } of uses) {
      if (!accounts.includes(accountId) || limiter.take(nodeId) > 0) continue
      const actor = (await people.makerOf(sid)) ?? `project ${client}`
      const times = `from ${isoTime(first_at * 1000)} to ${isoTime(last_at * 1000)}`
      const detail = `without the identity service, the device issued ${count} local tokens of project ${client} that came from ${sid}, ${times}`
      const entry = {
        accountId,
        actor,
        action: 'lease.use',
        subject: nodeId,
        address,
        outcome: 'ok',
        detail,
      } as const
      rows.push(audit.statement(entry, sql`1 = 1`))
    }
    return rows
  }
}
