import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import { bindSetup } from './link-statements.ts'

export interface Account {
  readonly accountId: string
  readonly email: string
  readonly createdAt: string
}

export interface Accounts {
  /**
   * Makes an account with a new person, who is its owner.
   *
   * @param options.isKnownPerson the owner may be the person who signs in with this address already
   * @throws RpcError `already_exists`, or `conflict` if a person has the address and may not be the owner
   */
  create(email: string, options?: { readonly isKnownPerson?: boolean }): Promise<Account>
  /** @throws RpcError `not_found` */
  byEmail(email: string): Promise<Account>
  /** @throws RpcError `not_found` */
  byId(accountId: string): Promise<Account>
  list(): Promise<Account[]>
}

export function createAccounts(store: SqlStore, clock: Clock): Accounts {
  return {
    async create(email, { isKnownPerson = false } = {}) {
      const [personId, accountId, now] = [randomUUID(), randomUUID(), clock.now()]
      // The person who set up a sign-in with this address may not be the one that the operator means.
      const [rows] = await store.transaction([
        sql`INSERT INTO accounts SELECT CAST(${accountId} AS TEXT), CAST(${email} AS TEXT), CAST(${now} AS BIGINT)
          WHERE ${isKnownPerson ? 1 : 0} = 1 OR NOT EXISTS (SELECT 1 FROM people WHERE email = ${email})
          ON CONFLICT (email) DO NOTHING RETURNING *`,
        sql`INSERT INTO people SELECT CAST(${personId} AS TEXT), email, '', CAST(${now} AS BIGINT) FROM accounts
          WHERE account_id = ${accountId} ON CONFLICT (email) DO NOTHING`,
        sql`INSERT INTO members SELECT accounts.account_id, people.person_id, 'owner', CAST(${now} AS BIGINT) FROM accounts
          JOIN people ON people.email = accounts.email WHERE accounts.account_id = ${accountId}
          AND (${isKnownPerson ? 1 : 0} = 1 OR people.person_id = ${personId})`,
        bindSetup(email),
      ])
      if (rows![0]) return toAccount(rows![0])
      const [known] = await store.run(sql`SELECT 1 AS found FROM accounts WHERE email = ${email}`)
      if (known)
        throw new RpcError('already_exists', `there is an account with the e-mail address ${email} already`)
      throw new RpcError('conflict', `a person signs in with the e-mail address ${email} already`, {
        hint: 'An e-mail address is no proof of who that is. If you asked the person and it is the right one, repeat the command with --known-person.',
      })
    },
    async byEmail(email) {
      const rows = await store.run(sql`SELECT * FROM accounts WHERE email = ${email}`)
      if (rows[0]) return toAccount(rows[0])
      throw new RpcError('not_found', `there is no account with the e-mail address ${email}`, {
        hint: `Make one: selvedge admin account create --email ${email}`,
      })
    },
    async byId(accountId) {
      const rows = await store.run(sql`SELECT * FROM accounts WHERE account_id = ${accountId}`)
      if (rows[0]) return toAccount(rows[0])
      throw new RpcError('not_found', `there is no account ${accountId}`)
    },
    list: async () => (await store.run(sql`SELECT * FROM accounts ORDER BY created_at`)).map(toAccount),
  }
}

const toAccount = (row: Row): Account => ({
  accountId: row.account_id as string,
  email: row.email as string,
  createdAt: isoTime(row.created_at as number),
})
