import { openSql } from '@selvedge/service-kit/sql'
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { migrations } from '../../storage/schema.ts'
import { createAccounts } from '../people/accounts.ts'
import { createDeveloperTokens } from './developer-tokens.ts'

describeOnStores(
  'a developer ID token, on %s,',
  (makeDatabase) => {
    it('is not stored if it could not be signed', async () => {
      const store = await openSql(await makeDatabase(), migrations)
      const clock = createFakeClock()
      const { accountId } = await createAccounts(store, clock).create('ada@example.com')
      await store.run(
        sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
        VALUES ('app', 'app', ${accountId}, '[]', '[]', 1, 0)`,
      )
      let refusal: Error | undefined = new Error('the keys may be outdated')
      const sign = () => {
        if (refusal) throw refusal
        return 'token'
      }
      const tokens = createDeveloperTokens({
        ...{ store, clock, log: createMemoryLog(), keys: { sign } as never, revocations: {} as never },
        ...{ issuer: () => 'https://identity.example', epoch: () => 0, maxTokens: 1 },
      })
      const subject = { accountId, personId: '', email: 'ada@example.com', authTime: 0 }
      await expect(tokens.issue(subject, 'app', 60)).rejects.toBe(refusal)
      expect(await tokens.list()).toEqual([])
      refusal = undefined
      const { jti } = await tokens.issue(subject, 'app', 60)
      expect(await tokens.list()).toMatchObject([{ jti }])
      await store.close()
    })
  },
  migrations,
)
