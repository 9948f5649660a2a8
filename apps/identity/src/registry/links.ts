/**
 * One-time sign-in links: for the first owner (`setup`), for an invited person (`invitation`), and for a person who lost every other
 * way to sign in (`reset`). Only their hashes are stored. A link names who made it, and ends when its maker stops being an owner.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import type { Role } from './people.ts'

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
   * @param life seconds
   * @returns the secret: 32 random bytes in base64url
   * @throws RpcError `limit_exceeded`
   */
  create(
    link: Pick<Link, 'purpose' | 'accountId' | 'role' | 'email' | 'madeBy'>,
    life: number,
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
  createSetup(life: number): Promise<string | undefined>
}

export interface Accepted {
  readonly personId: string
  /** "" if the link is for no account in particular. */
  readonly accountId: string
}

/** Links of one account that may wait to be used. */
export const maxLinks = 100

/** Whether any person can sign in. */
export const anyCredential =
  "(EXISTS (SELECT 1 FROM passkeys) OR EXISTS (SELECT 1 FROM people WHERE password <> ''))"

/** What a new credential of a person ends: older links for the same person, and the link for the first owner. */
export const endLinksFor = (personId: string): readonly Statement[] => [
  sql`DELETE FROM links WHERE purpose = 'setup'
    OR (purpose = 'reset' AND email = (SELECT email FROM people WHERE person_id = ${personId}))`,
]

/** The first account is whom the link for the first owner is for from now on. */
export const bindSetup = (email: string): Statement =>
  sql`UPDATE links SET email = ${email} WHERE purpose = 'setup' AND email = ''`

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

  async function create(link: Parameters<Links['create']>[0], life: number): Promise<string> {
    const { purpose, accountId, role, email, madeBy } = link
    const secret = randomBytes(32).toString('base64url')
    const now = clock.now()
    const rows = await store.run(
      sql`INSERT INTO links SELECT CAST(${randomUUID()} AS TEXT), CAST(${hashOf(secret)} AS TEXT), CAST(${purpose} AS TEXT),
          CAST(${accountId} AS TEXT), CAST(${role} AS TEXT), CAST(${email} AS TEXT), CAST(${madeBy} AS TEXT),
          CAST(${now} AS BIGINT), CAST(${now + life * 1000} AS BIGINT), ''
        WHERE (SELECT COUNT(*) FROM links WHERE account_id = ${accountId} AND email = ${email} AND expires_at > ${now}) < ${maxLinks}
        RETURNING link_id`,
    )
    if (rows[0]) return secret
    throw new RpcError('limit_exceeded', `${maxLinks} links wait to be used already`, {
      hint: 'Revoke links that are not needed any more, or wait until they expire.',
    })
  }

  async function find(secret: string): Promise<Link | undefined> {
    const [row] = await store.run(openLinks(sql`hash = ${hashOf(secret)}`))
    return row && toLink(row)
  }

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
      const open = isOpen()
      const mayBe = sql`links.hash = ${hashOf(secret)} AND links.email IN ('', ${email})
        AND (links.email <> '' OR NOT EXISTS (SELECT 1 FROM people WHERE email = ${email} AND person_id <> ${viewerId}))
        AND (links.purpose <> 'invitation'
          OR (SELECT COUNT(*) FROM members WHERE members.account_id = links.account_id) < ${maxMembers})`
      const claim = randomUUID()
      const rows = await store.transaction([
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
    async createSetup(life) {
      const [, rows] = await store.transaction([
        sql`DELETE FROM links WHERE purpose = 'setup'`,
        {
          // The installation waits for an owner who was created and never set up a sign-in method.
          sql: `SELECT COALESCE((SELECT people.email FROM members JOIN people ON people.person_id = members.person_id
              WHERE members.role = 'owner' ORDER BY members.joined_at LIMIT 1), '') AS email WHERE NOT ${anyCredential}`,
          values: [],
        },
      ])
      const [first] = rows!
      if (!first) return undefined
      const email = first.email as string
      return create({ purpose: 'setup', accountId: '', role: 'owner', email, madeBy: '' }, life)
    },
  }
}

/** What follows in the transaction that claimed a link. The last statement but one gives the person and the account. */
function letIn(claim: string, email: string, viewerId: string, now: number): Statement[] {
  const [personId, accountId] = [randomUUID(), randomUUID()]
  // A link without an address lets in a new person, or the caller; never another one who has this address.
  const person = sql`people.email = ${email} AND (links.email <> '' OR people.person_id IN (${personId}, ${viewerId}))`
  const personOfLink = {
    sql: `FROM links JOIN people ON ${person.sql} WHERE links.claim = ?`,
    values: [...person.values, claim],
  }
  return [
    sql`INSERT INTO people SELECT CAST(${personId} AS TEXT), CAST(${email} AS TEXT), '', CAST(${now} AS BIGINT) FROM links
      WHERE claim = ${claim} AND links.email = '' ON CONFLICT (email) DO NOTHING`,
    {
      sql: `INSERT INTO accounts SELECT CAST(? AS TEXT), people.email, CAST(? AS BIGINT) ${personOfLink.sql}
        AND links.purpose = 'setup' AND links.email = '' ON CONFLICT (email) DO NOTHING`,
      values: [accountId, now, ...personOfLink.values],
    },
    {
      sql: `INSERT INTO members SELECT accounts.account_id, people.person_id, links.role, CAST(? AS BIGINT)
        FROM links JOIN people ON ${person.sql}
        JOIN accounts ON accounts.account_id = CASE WHEN links.purpose = 'setup' THEN ? ELSE links.account_id END
        WHERE links.claim = ? ON CONFLICT DO NOTHING`,
      values: [now, ...person.values, accountId, claim],
    },
    {
      sql: `DELETE FROM links WHERE claim = ? AND EXISTS (SELECT 1 FROM people
        JOIN members ON members.person_id = people.person_id
        WHERE ${person.sql} AND (links.account_id = '' OR members.account_id = links.account_id))
        RETURNING account_id, (SELECT person_id FROM people WHERE email = ?) AS person_id`,
      values: [claim, ...person.values, email],
    },
    // The sign-in failed: the link can be used again.
    sql`UPDATE links SET claim = '' WHERE claim = ${claim}`,
  ]
}

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
