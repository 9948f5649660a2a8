/** What an account decides about all its join keys. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { takeTurn } from './join-keys.ts'

interface AccountRules {
  /** Whether each device that joins waits for an approval, whatever its key states. */
  readonly approve: boolean
}

export interface JoinRules {
  find(accountId: string): Promise<AccountRules>
  /** Devices that wait already still wait afterwards. */
  set(accountId: string, rules: AccountRules): Promise<void>
}

export function createJoinRules(store: SqlStore): JoinRules {
  return {
    async find(accountId) {
      const [row] = await store.run(
        sql`SELECT needs_approval FROM join_rules WHERE account_id = ${accountId}`,
      )
      return { approve: row?.needs_approval === 1 }
    },
    async set(accountId, { approve }) {
      await store.transaction([
        takeTurn,
        sql`INSERT INTO join_rules VALUES (${accountId}, ${approve ? 1 : 0})
          ON CONFLICT (account_id) DO UPDATE SET needs_approval = excluded.needs_approval`,
      ])
    },
  }
}
