/**
 * Services that an account shares with people of other accounts. A share is of one service of one project at one device. It counts while
 * its maker is an owner of the account and the device has not left the account since.
 */
import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import type { ServiceShare } from '@selvedge/protocol/console'
import { groupNamePattern, type TokenShare, type TokenShares, userLimits } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Revocations } from '../revocation/revocations.ts'
import { findPerson, shownEmail } from './known-people.ts'

/** What a share is of. */
interface SharedService {
  readonly nodeId: string
  readonly clientId: string
  readonly service: string
}

interface NewShare extends SharedService {
  readonly accountId: string
  /** Person ID of the owner. */
  readonly madeBy: string
  /** Address or ID of a person, or the name of a group. */
  readonly with: string
  /** Unix milliseconds. */
  readonly until: number
}

export interface Shares {
  /** @param nodeId undefined: of all devices */
  list(accountId: string, nodeId?: string): Promise<ServiceShare[]>
  /** @throws RpcError `not_found`, `invalid_params` for the time, `limit_exceeded`, `conflict` if the right is gone meanwhile */
  add(share: NewShare): Promise<ServiceShare>
  /** @throws RpcError `not_found` */
  remove(accountId: string, shareId: string): Promise<void>
  /** The services of a project at a node that another account shares with a person; undefined without one. */
  usableBy(personId: string, at: Pick<SharedService, 'nodeId' | 'clientId'>): Promise<TokenShares | undefined>
}

export interface SharesParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly revocations: Pick<Revocations, 'revokeTree'>
}

/** Milliseconds. */
const times = { shortest: 60_000, longest: userLimits.shareDays * 86_400_000 }

/** Joins what a share rests on: the device in the account since the share was made, and the maker as an owner. */
const grounds = `JOIN nodes ON nodes.node_id = service_shares.node_id AND nodes.account_id = service_shares.account_id
    AND nodes.account_epoch = service_shares.account_epoch
  JOIN members AS maker ON maker.account_id = service_shares.account_id AND maker.person_id = service_shares.made_by
    AND maker.role = 'owner'`

export function createShares({ store, clock, revocations }: SharesParts): Shares {
  async function groupIdOf(accountId: string, name: string): Promise<string> {
    const [row] = await store.run(
      sql`SELECT group_id FROM person_groups WHERE account_id = ${accountId} AND name = ${name} AND revoked_at IS NULL`,
    )
    if (row) return row.group_id as string
    throw new RpcError('not_found', `the account has no group ${JSON.stringify(name)}`)
  }

  async function list(accountId: string, more: Statement): Promise<ServiceShare[]> {
    return (await store.run(listStatement(accountId, clock.now(), more))).map(toShare)
  }

  return {
    list: (accountId, nodeId) =>
      list(accountId, nodeId === undefined ? sql`` : sql`AND service_shares.node_id = ${nodeId}`),
    async add(share) {
      const { accountId, until } = share
      const now = clock.now()
      if (!(until >= now + times.shortest && until <= now + times.longest))
        throw new RpcError('invalid_params', `a share lasts from a minute to ${userLimits.shareDays} days`)
      const isGroup = groupNamePattern.test(share.with)
      const groupId = isGroup ? await groupIdOf(accountId, share.with) : ''
      const personId = isGroup ? '' : await findPerson(store, accountId, share.with)
      const shareId = randomUUID()
      const [, rows] = await store.transaction([
        takeTurn,
        insertShare(shareId, { ...share, personId, groupId }, now),
      ])
      if (!rows![0]) await explainRefusal(accountId)
      return (await list(accountId, sql`AND share_id = ${shareId}`))[0] ?? explainRefusal(accountId)
    },
    async remove(accountId, shareId) {
      const now = clock.now()
      const { rows } = await revocations.revokeTree(
        sql`SELECT share_id AS id FROM service_shares WHERE share_id = ${shareId} AND revoked_at = ${now}`,
        {
          statements: [
            sql`UPDATE service_shares SET revoked_at = ${now} WHERE share_id = ${shareId} AND account_id = ${accountId}
              AND revoked_at IS NULL RETURNING share_id`,
          ],
          noted: [],
        },
      )
      if (!rows[0]![0]) throw new RpcError('not_found', 'the account has no such share')
    },
    async usableBy(personId, { nodeId, clientId }) {
      const rows = await store.run({
        sql: `SELECT share_id, service_shares.account_id, service, expires_at, group_members.member_id FROM service_shares ${grounds}
          LEFT JOIN group_members ON group_members.group_id = service_shares.group_id AND group_members.person_id = ?
            AND group_members.revoked_at IS NULL
          WHERE service_shares.node_id = ? AND client_id = ? AND service_shares.revoked_at IS NULL AND expires_at > ?
            AND (service_shares.person_id = ? OR group_members.member_id IS NOT NULL)
          ORDER BY expires_at DESC, share_id LIMIT ?`,
        values: [personId, nodeId, clientId, clock.now(), personId, userLimits.sharesOfAccount],
      })
      return toTokenShares(rows)
    },
  }

  async function explainRefusal(accountId: string): Promise<never> {
    const [row] = await store.run(
      sql`SELECT COUNT(*) AS count FROM service_shares WHERE account_id = ${accountId} AND revoked_at IS NULL`,
    )
    if (Number(row!.count) >= userLimits.sharesOfAccount)
      throw new RpcError('limit_exceeded', `an account has at most ${userLimits.sharesOfAccount} shares`)
    throw new RpcError('conflict', 'the device, the group or your role has changed meanwhile')
  }
}

/**
 * Waits for what changes members, groups, nodes or projects, which all count in this row: without it, PostgreSQL could write a share while
 * another transaction removes the right and does not see the share yet.
 */
const takeTurn = sql`UPDATE counters SET value = value WHERE name = 'changes'`

/** The conditions are checked again by the statement itself: what they are about may change at another replica. */
function insertShare(
  shareId: string,
  share: NewShare & { readonly personId: string; readonly groupId: string },
  now: number,
): Statement {
  const { accountId, nodeId, clientId, service, personId, groupId, madeBy, until } = share
  return sql`INSERT INTO service_shares SELECT CAST(${shareId} AS TEXT), nodes.account_id, nodes.node_id, nodes.account_epoch,
      CAST(${clientId} AS TEXT), CAST(${service} AS TEXT), CAST(${personId} AS TEXT), CAST(${groupId} AS TEXT),
      CAST(${madeBy} AS TEXT), CAST(${now} AS BIGINT), CAST(${until} AS BIGINT), NULL
    FROM nodes WHERE nodes.node_id = ${nodeId} AND nodes.account_id = ${accountId}
      AND EXISTS (SELECT 1 FROM projects WHERE client_id = ${clientId} AND active = 1)
      AND EXISTS (SELECT 1 FROM members WHERE account_id = ${accountId} AND person_id = ${madeBy} AND role = 'owner')
      AND (${groupId} = '' OR EXISTS (SELECT 1 FROM person_groups WHERE group_id = ${groupId} AND revoked_at IS NULL))
      AND (SELECT COUNT(*) FROM service_shares WHERE account_id = ${accountId} AND revoked_at IS NULL) < ${userLimits.sharesOfAccount}
    RETURNING share_id`
}

function listStatement(accountId: string, now: number, more: Statement): Statement {
  const email = shownEmail(accountId)
  return {
    sql: `SELECT share_id, service_shares.node_id, service_shares.client_id, service, service_shares.person_id,
        service_shares.group_id, service_shares.created_at, expires_at, person_groups.name AS group_name, ${email.sql} AS email,
        (SELECT email FROM people AS owner WHERE owner.person_id = service_shares.made_by) AS made_by
      FROM service_shares ${grounds} LEFT JOIN people ON people.person_id = service_shares.person_id
      LEFT JOIN person_groups ON person_groups.group_id = service_shares.group_id
      WHERE service_shares.account_id = ? AND service_shares.revoked_at IS NULL AND expires_at > ? ${more.sql}
      ORDER BY service_shares.created_at DESC, share_id`,
    values: [...email.values, accountId, now, ...more.values],
  }
}

const toShare = (row: Row): ServiceShare => ({
  shareId: row.share_id as string,
  nodeId: row.node_id as string,
  clientId: row.client_id as string,
  service: row.service as string,
  with: ((row.group_name as string | null) || (row.email as string | null) || row.person_id) as string,
  kind: row.group_id === '' ? 'person' : 'group',
  until: isoTime(row.expires_at as number),
  madeBy: (row.made_by as string | null) ?? '',
  createdAt: isoTime(row.created_at as number),
})

/** One share of each service: the longest. */
function toTokenShares(rows: readonly Row[]): TokenShares | undefined {
  const [first] = rows
  if (!first) return undefined
  const services = new Map<string, TokenShare>()
  for (const { share_id, service, expires_at, member_id } of rows) {
    if (services.has(service as string)) continue
    services.set(service as string, {
      id: share_id as string,
      service: service as string,
      until: Math.floor((expires_at as number) / 1000),
      ...(member_id !== null && { member: member_id as string }),
    })
  }
  return {
    account_id: first.account_id as string,
    services: [...services.values()].slice(0, userLimits.shares),
  }
}
