/**
 * One-time sign-in links: for the first owner (`setup`), for an invited person (`invitation`), and for a person who lost every other
 * way to sign in (`reset`). Only their hashes are stored. A link names who made it, and ends when its maker stops being an owner.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { writeInTurn } from '../../storage/write-in-turn.ts'
import { anyCredential, endLinksFor, letIn } from './link-statements.ts'
import type { Role } from './role.ts'

type LinkPurpose = 'setup' | 'invitation' | 'reset'

export interface Link {
  readonly linkId: string
  readonly purpose: LinkPurpose
  /** Account that an invitation is for; else "". */
  readonly accountId: string
  readonly role: Role
  /** Address that it is for; "" if the person gives one. */
  readonly email: string
  /** Person ID of the owner who made it; "": the operator. */
  readonly madeBy: string
  readonly createdAt: string
  readonly expiresAt: string
}

export interface Links {
  /**
   * @param lifeSeconds lifetime
   * @returns the secret: 32 random bytes in base64url
   * @throws RpcError `limit_exceeded`
   */
  create(
    link: Pick<Link, 'purpose' | 'accountId' | 'role' | 'email' | 'madeBy'>,
    lifeSeconds: number,
  ): Promise<string>
  /** The link of a secret, if it could be used now. */
  find(secret: string): Promise<Link | undefined>
  /**
   * Uses a link up and does what it is for, in one transaction. Exactly one caller succeeds.
   *
   * @param email of the person that it lets in
   * @param viewerId person ID of the caller; "" if the caller is not signed in
   * @returns who may sign in now, and to which account; undefined if the link cannot be used, or not with this address
   * @throws RpcError `limit_exceeded` if the account is full
   */
  accept(secret: string, email: string, viewerId: string): Promise<Accepted | undefined>
  /** Links that can still be used: all of them, or the invitations to an account. */
  list(accountId?: string): Promise<Link[]>
  /** @param accountId only if it invites to this account @returns whether there was such a link */
  revoke(linkId: string, accountId?: string): Promise<boolean>
  /** Statements for the transaction that gives a person a new credential: they end the links that it replaces. */
  endFor(personId: string): readonly Statement[]
  /** Makes the one link for the first owner; those from before end. @returns the secret; undefined if any person can sign in */
  createSetup(lifeSeconds: number): Promise<string | undefined>
}

export interface Accepted {
  readonly personId: string
  /** "" if the link is for no account in particular. */
  readonly accountId: string
}

/** Links of one account that may wait to be used. */
export const maxLinks = 100

export function createLinks(store: SqlStore, clock: Clock, maxMembers: number): Links {
  /** Conditions on a row of `links`: not used, not expired, and its reason to exist still holds. */
  const isOpen = (): Statement => ({
    sql: `links.claim = '' AND links.expires_at > ?
      AND (links.made_by = '' OR EXISTS (SELECT 1 FROM members WHERE members.account_id = links.account_id
        AND members.person_id = links.made_by AND members.role = 'owner'))
      AND (links.purpose <> 'setup' OR NOT ${anyCredential})`,
    values: [clock.now()],
  })
  const openLinks = (where: Statement): Statement => {
    const open = isOpen()
    return {
      sql: `SELECT * FROM links WHERE ${open.sql} AND ${where.sql} ORDER BY created_at DESC`,
      values: [...open.values, ...where.values],
    }
  }

  async function create(link: Parameters<Links['create']>[0], lifeSeconds: number): Promise<string> {
    const { purpose, accountId, role, email, madeBy } = link
    const secret = newSecret()
    const now = clock.now()
    const [rows] = await writeInTurn(store, `links of ${accountId} ${email}`, [
      sql`INSERT INTO links SELECT CAST(${randomUUID()} AS TEXT), CAST(${hashOf(secret)} AS TEXT), CAST(${purpose} AS TEXT),
          CAST(${accountId} AS TEXT), CAST(${role} AS TEXT), CAST(${email} AS TEXT), CAST(${madeBy} AS TEXT),
          CAST(${now} AS BIGINT), CAST(${now + lifeSeconds * 1000} AS BIGINT), ''
        WHERE (SELECT COUNT(*) FROM links WHERE account_id = ${accountId} AND email = ${email} AND expires_at > ${now}) < ${maxLinks}
        RETURNING link_id`,
    ])
    if (rows![0]) return secret
    throw new RpcError('limit_exceeded', `${maxLinks} links wait to be used already`, {
      hint: 'Revoke links that are not needed any more, or wait until they expire.',
    })
  }

  async function find(secret: string): Promise<Link | undefined> {
    const [row] = await store.run(openLinks(sql`hash = ${hashOf(secret)}`))
    return row && toLink(row)
  }

  /** Why a link was not accepted: undefined if it can't be used any more. */
  async function refuseIfFull(secret: string): Promise<undefined> {
    const { accountId = '' } = (await find(secret)) ?? {}
    const [row] = await store.run(sql`SELECT COUNT(*) AS total FROM members WHERE account_id = ${accountId}`)
    if (Number(row!.total) < maxMembers) return undefined
    throw new RpcError('limit_exceeded', `the account has ${maxMembers} members already`, {
      hint: 'Ask an owner to remove members who left, or the operator to raise limits.members.',
    })
  }

  return {
    create,
    endFor: endLinksFor,
    find,
    async accept(secret, email, viewerId) {
      const link = await find(secret)
      if (!link) return undefined
      const open = isOpen()
      const mayBe = sql`links.hash = ${hashOf(secret)} AND links.email IN ('', ${email})
        AND (links.email <> '' OR NOT EXISTS (SELECT 1 FROM people WHERE email = ${email} AND person_id <> ${viewerId}))
        AND (links.purpose <> 'invitation'
          OR (SELECT COUNT(*) FROM members WHERE members.account_id = links.account_id) < ${maxMembers})`
      const claim = randomUUID()
      const rows = await writeInTurn(store, `members of ${link.accountId}`, [
        // Locks the row: of several at once, one finds it unclaimed.
        {
          sql: `UPDATE links SET claim = ? WHERE ${open.sql} AND ${mayBe.sql}`,
          values: [claim, ...open.values, ...mayBe.values],
        },
        ...letIn(claim, email, viewerId, clock.now()),
      ])
      const [accepted] = rows.at(-2)!
      if (!accepted) return refuseIfFull(secret)
      return { personId: accepted.person_id as string, accountId: accepted.account_id as string }
    },
    async list(accountId) {
      const where = accountId === undefined ? sql`1 = 1` : sql`account_id = ${accountId}`
      return (await store.run(openLinks(where))).map(toLink)
    },
    async revoke(linkId, accountId) {
      const rows = await store.run(
        accountId === undefined
          ? sql`DELETE FROM links WHERE link_id = ${linkId} RETURNING link_id`
          : sql`DELETE FROM links WHERE link_id = ${linkId} AND account_id = ${accountId} RETURNING link_id`,
      )
      return rows.length === 1
    },
    async createSetup(lifeSeconds) {
      const secret = newSecret()
      const now = clock.now()
      const [, rows] = await writeInTurn(store, 'the link for the first owner', [
        sql`DELETE FROM links WHERE purpose = 'setup'`,
        {
          // The installation waits for an owner who was created and never set up a sign-in method, or for any person.
          sql: `INSERT INTO links SELECT CAST(? AS TEXT), CAST(? AS TEXT), 'setup', '', 'owner',
              COALESCE((SELECT people.email FROM members JOIN people ON people.person_id = members.person_id
                WHERE members.role = 'owner' ORDER BY members.joined_at LIMIT 1), ''),
              '', CAST(? AS BIGINT), CAST(? AS BIGINT), ''
            WHERE NOT ${anyCredential} RETURNING link_id`,
          values: [randomUUID(), hashOf(secret), now, now + lifeSeconds * 1000],
        },
      ])
      return rows![0] && secret
    },
  }
}

const newSecret = (): string => randomBytes(32).toString('base64url')

const hashOf = (secret: string): string => hash('sha256', secret, 'base64url')

const toLink = (row: Row): Link => ({
  linkId: row.link_id as string,
  purpose: row.purpose as LinkPurpose,
  accountId: row.account_id as string,
  role: row.role as Role,
  email: row.email as string,
  madeBy: row.made_by as string,
  createdAt: isoTime(row.created_at as number),
  expiresAt: isoTime(row.expires_at as number),
})
