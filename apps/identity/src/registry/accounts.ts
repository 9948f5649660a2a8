import { randomUUID } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import type { People } from './people.ts'

export interface Account {
  readonly accountId: string
  readonly email: string
  readonly createdAt: string
}

export interface Accounts {
  /** Makes an account, and its person the owner. @throws RpcError `already_exists` */
  create(email: string): Promise<Account>
  /** @throws RpcError `not_found` */
  byEmail(email: string): Promise<Account>
  /** @throws RpcError `not_found` */
  byId(accountId: string): Promise<Account>
  list(): Promise<Account[]>
}

export function createAccounts(store: SqlStore, clock: Clock, people: People): Accounts {
  return {
    async create(email) {
      const { personId } = await people.ensure(email)
      const accountId = randomUUID()
      const rows = await store.run(
        sql`INSERT INTO accounts VALUES (${accountId}, ${email}, ${clock.now()}) ON CONFLICT (email) DO NOTHING RETURNING *`,
      )
      if (!rows[0])
        throw new RpcError('already_exists', `there is an account with the e-mail address ${email} already`)
      await people.join(accountId, personId, 'owner')
      return toAccount(rows[0])
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
