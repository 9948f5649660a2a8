/** What a device does to the account it is of, as rows of the audit log that are written together with the change. */
import type { AccessClaims } from '@selvedge/protocol/tokens'
import { createLimiter } from '@selvedge/service-kit/http'
import { type Statement, sql } from '@selvedge/service-kit/store'
import type { Audit } from '../../storage/audit/audit.ts'
import type { People } from '../people/people.ts'
import type { Node } from './nodes.ts'

/** A device that changes its name without end fills no log: some at once, then ten an hour. */
const renames = { burst: 10, perSecond: 10 / 3600 }

interface DeviceChange {
  readonly before: Node | undefined
  readonly after: Pick<Node, 'nodeId' | 'name' | 'accountId'>
  /** The access token with which it joins; undefined: it does not join. */
  readonly token: AccessClaims | undefined
  readonly address: string
}

/** Makes the rows for one change; each is written only if the change was written. */
export type DeviceAudit = (change: DeviceChange) => Promise<Statement[]>

export function createDeviceAudit(audit: Audit, people: Pick<People, 'makerOf'>): DeviceAudit {
  const limiter = createLimiter(renames)

  return async ({ before, after, token, address }) => {
    const { nodeId, name, accountId } = after
    const common = { subject: nodeId, address, outcome: 'ok' } as const
    const isNow = sql`EXISTS (SELECT 1 FROM nodes WHERE node_id = ${nodeId} AND account_id = ${accountId})`
    const former = before?.accountId ?? ''
    const rows: Statement[] = []
    if (former !== '' && former !== accountId) {
      const entry = {
        ...common,
        accountId: former,
        actor: 'the device',
        action: 'device.leave',
        detail: name,
      }
      rows.push(audit.statement(entry, isNow))
    }
    if (token && accountId !== '' && accountId !== former) {
      const { sid, jti, client_id: client } = token
      const actor = (await people.makerOf(sid ?? jti)) ?? `project ${client}`
      const detail = `${name}, with a token of project ${client} that came from ${sid ?? jti}`
      rows.push(audit.statement({ ...common, accountId, actor, action: 'device.join', detail }, isNow))
    }
    if (before && before.name !== name && accountId !== '' && limiter.take(nodeId) === 0) {
      const detail = `${before.name} is now ${name}`
      const entry = { ...common, accountId, actor: 'the device', action: 'device.rename', detail }
      rows.push(audit.statement(entry, isNow))
    }
    return rows
  }
}
