/** Groups of people of an account. What a token has of a group names the membership, which is revoked when it ends. */
import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type TokenGroup, userLimits } from '@selvedge/protocol/tokens'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import type { Revocations } from '../revocation/revocations.ts'
import { findPerson, shownEmail } from './known-people.ts'

interface PersonGroup {
  readonly groupId: string
  readonly name: string
  readonly createdAt: string
  /** `email` is "" if the account does not know it. */
  readonly people: { readonly personId: string; readonly email: string }[]
}

export interface Groups {
  list(accountId: string): Promise<PersonGroup[]>
  /** @throws RpcError `already_exists`, `limit_exceeded` */
  create(accountId: string, name: string): Promise<PersonGroup>
  /** Ends a group, its memberships and the shares with it. @returns its name @throws RpcError `not_found` */
  remove(accountId: string, groupId: string): Promise<string>
  /** @param person ID or known address @returns the name of the group @throws RpcError `not_found`, `limit_exceeded` */
  add(accountId: string, groupId: string, person: string): Promise<string>
  /** @returns the name of the group @throws RpcError `not_found` */
  removePerson(accountId: string, groupId: string, personId: string): Promise<string>
  /** The groups of an account that a person is in. */
  of(accountId: string, personId: string): Promise<TokenGroup[]>
}

export interface GroupsParts {
  readonly store: SqlStore
  readonly clock: Clock
  readonly revocations: Pick<Revocations, 'revokeTree'>
}

const noGroup = () => new RpcError('not_found', 'the account has no such group')

export function createGroups(parts: GroupsParts): Groups {
  const { store, clock } = parts

  async function nameOf(accountId: string, groupId: string): Promise<string> {
    const [row] = await store.run(
      sql`SELECT name FROM person_groups WHERE group_id = ${groupId} AND account_id = ${accountId} AND revoked_at IS NULL`,
    )
    if (row) return row.name as string
    throw noGroup()
  }

  return {
    ...createEndings(parts),
    async list(accountId) {
      const email = shownEmail(accountId)
      const rows = await store.run({
        sql: `SELECT person_groups.group_id, name, person_groups.created_at, group_members.person_id, ${email.sql} AS email
          FROM person_groups LEFT JOIN group_members
            ON group_members.group_id = person_groups.group_id AND group_members.revoked_at IS NULL
          LEFT JOIN people ON people.person_id = group_members.person_id
          WHERE person_groups.account_id = ? AND person_groups.revoked_at IS NULL ORDER BY name, added_at`,
        values: [...email.values, accountId],
      })
      return toGroups(rows)
    },
    async create(accountId, name) {
      const [groupId, now] = [randomUUID(), clock.now()]
      const [rows] = await writeInTurn(store, `groups of ${accountId}`, [
        sql`INSERT INTO person_groups SELECT CAST(${groupId} AS TEXT), CAST(${accountId} AS TEXT), CAST(${name} AS TEXT),
            CAST(${now} AS BIGINT), NULL
          WHERE (SELECT COUNT(*) FROM person_groups WHERE account_id = ${accountId} AND revoked_at IS NULL)
            < ${userLimits.groupsOfAccount} ON CONFLICT DO NOTHING RETURNING group_id`,
      ])
      if (rows![0]) return { groupId, name, createdAt: isoTime(now), people: [] }
      const taken = (await this.list(accountId)).some((each) => each.name === name)
      if (taken) throw new RpcError('already_exists', `the account has a group ${name} already`)
      throw new RpcError('limit_exceeded', `an account has at most ${userLimits.groupsOfAccount} groups`)
    },
    async add(accountId, groupId, person) {
      const name = await nameOf(accountId, groupId)
      const personId = await findPerson(store, accountId, person)
      const [rows] = await writeInTurn(store, `groups of ${accountId}`, [insertMember(groupId, personId)])
      if (rows![0] || (await this.of(accountId, personId)).some((each) => each.name === name)) return name
      const { peopleOfGroup, groups } = userLimits
      throw new RpcError(
        'limit_exceeded',
        `a group has at most ${peopleOfGroup} people, and a person is in at most ${groups} groups of an account`,
      )
    },
    async of(accountId, personId) {
      const rows = await store.run(
        sql`SELECT member_id, name FROM group_members JOIN person_groups ON person_groups.group_id = group_members.group_id
          WHERE account_id = ${accountId} AND person_id = ${personId} AND group_members.revoked_at IS NULL
            AND person_groups.revoked_at IS NULL ORDER BY name LIMIT ${userLimits.groups}`,
      )
      return rows.map((row) => ({ id: row.member_id as string, name: row.name as string }))
    },
  }

  function insertMember(groupId: string, personId: string) {
    return sql`INSERT INTO group_members SELECT CAST(${randomUUID()} AS TEXT), group_id, CAST(${personId} AS TEXT),
        CAST(${clock.now()} AS BIGINT), NULL FROM person_groups AS one
      WHERE group_id = ${groupId} AND revoked_at IS NULL
        AND (SELECT COUNT(*) FROM group_members WHERE group_id = ${groupId} AND revoked_at IS NULL) < ${userLimits.peopleOfGroup}
        AND (SELECT COUNT(*) FROM group_members JOIN person_groups ON person_groups.group_id = group_members.group_id
          WHERE person_id = ${personId} AND person_groups.account_id = one.account_id AND group_members.revoked_at IS NULL)
          < ${userLimits.groups}
      ON CONFLICT DO NOTHING RETURNING member_id`
  }
}

/** Rows are marked first, and revoked in the same transaction; a sweep removes them later. */
function createEndings({ clock, revocations }: GroupsParts): Pick<Groups, 'remove' | 'removePerson'> {
  return {
    async remove(accountId, groupId) {
      const now = clock.now()
      const { rows } = await revocations.revokeTree(
        sql`SELECT member_id AS id FROM group_members WHERE group_id = ${groupId} AND revoked_at = ${now}
          UNION SELECT share_id AS id FROM service_shares WHERE group_id = ${groupId} AND revoked_at = ${now}`,
        {
          statements: [
            sql`UPDATE person_groups SET revoked_at = ${now} WHERE group_id = ${groupId} AND account_id = ${accountId}
              AND revoked_at IS NULL RETURNING name`,
            sql`UPDATE group_members SET revoked_at = ${now} WHERE group_id = ${groupId} AND revoked_at IS NULL
              AND EXISTS (SELECT 1 FROM person_groups WHERE group_id = ${groupId} AND revoked_at IS NOT NULL)`,
            sql`UPDATE service_shares SET revoked_at = ${now} WHERE group_id = ${groupId} AND revoked_at IS NULL
              AND EXISTS (SELECT 1 FROM person_groups WHERE group_id = ${groupId} AND revoked_at IS NOT NULL)`,
          ],
          noted: [],
        },
      )
      if (rows[0]![0]) return rows[0]![0].name as string
      throw noGroup()
    },
    async removePerson(accountId, groupId, personId) {
      const now = clock.now()
      const { rows } = await revocations.revokeTree(
        sql`SELECT member_id AS id FROM group_members WHERE group_id = ${groupId} AND person_id = ${personId} AND revoked_at = ${now}`,
        {
          statements: [
            sql`UPDATE group_members SET revoked_at = ${now} WHERE group_id = ${groupId} AND person_id = ${personId} AND revoked_at IS NULL
              AND EXISTS (SELECT 1 FROM person_groups WHERE group_id = ${groupId} AND account_id = ${accountId})
              RETURNING (SELECT name FROM person_groups WHERE group_id = ${groupId}) AS name`,
          ],
          noted: [],
        },
      )
      if (rows[0]![0]) return rows[0]![0].name as string
      throw new RpcError('not_found', 'the group of the account has no such person')
    },
  }
}

function toGroups(rows: readonly Row[]): PersonGroup[] {
  const groups = new Map<string, PersonGroup>()
  for (const row of rows) {
    const groupId = row.group_id as string
    const found = groups.get(groupId) ?? {
      groupId,
      name: row.name as string,
      createdAt: isoTime(row.created_at as number),
      people: [],
    }
    groups.set(groupId, found)
    if (typeof row.person_id === 'string')
      found.people.push({ personId: row.person_id, email: (row.email as string | null) ?? '' })
  }
  return [...groups.values()]
}
