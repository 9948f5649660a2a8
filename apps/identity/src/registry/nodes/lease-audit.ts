/** Who worked at a device on a lease, as the device reports it, as rows of the audit log. */
import type { LeaseUse } from '@selvedge/protocol/tokens'
import { isoTime } from '@selvedge/service-kit/clock'
import { createLimiter } from '@selvedge/service-kit/http'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Audit } from '../../storage/audit/audit.ts'

/** A device that reports without end fills no log: some at once, then twenty an hour. */
const reports = { burst: 100, perSecond: 20 / 3600 }

interface LeaseReport {
  readonly nodeId: string
  /** Account of the device before and after the request: it reports to no other one. */
  readonly accounts: readonly (string | undefined)[]
  readonly uses: readonly LeaseUse[]
  readonly address: string
}

export type LeaseAudit = (report: LeaseReport) => Promise<Statement[]>

export function createLeaseAudit(store: SqlStore, audit: Audit): LeaseAudit {
  const limiter = createLimiter(reports)

  /** A device may name any sign-in: it learns nothing of those of other accounts. */
  async function personOf({ sid, account_id: accountId }: LeaseUse): Promise<string | undefined> {
    const [row] = await store.run<{ email: string }>(
      sql`SELECT people.email FROM developer_tokens JOIN people ON people.person_id = developer_tokens.person_id
          WHERE developer_tokens.jti = ${sid} AND developer_tokens.account_id = ${accountId}
        UNION SELECT email FROM sign_ins WHERE sid = ${sid} AND account_id = ${accountId}`,
    )
    return row?.email
  }

  return async ({ nodeId, accounts, uses, address }) => {
    const rows: Statement[] = []
    for (const use of uses) {
      const { account_id: accountId } = use
      if (accountId === '' || !accounts.includes(accountId) || limiter.take(nodeId) > 0) continue
      const detail = describe(use, await personOf(use))
      const entry = { accountId, actor: 'the device', action: 'lease.use', subject: nodeId, address, detail }
      rows.push(audit.statement({ ...entry, outcome: 'ok' }, sql`1 = 1`))
    }
    return rows
  }
}

function describe({ client_id, sid, count, first_at, last_at }: LeaseUse, person = 'a program'): string {
  const times = `from ${isoTime(first_at * 1000)} to ${isoTime(last_at * 1000)}`
  return `${count} local tokens for ${person} without this service, ${times}: project ${client_id}, sign-in ${sid}`
}
