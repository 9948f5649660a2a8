import { DatabaseSync } from 'node:sqlite'
import { stepsOf } from '@selvedge/service-kit/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { revokeAllAccounts } from './revoke-all-accounts.ts'

const now = 1_800_000_000_500
const second = 1_800_000_001
let database: DatabaseSync
beforeEach(() => {
  database = new DatabaseSync(':memory:')
  database.exec(stepsOf(migrations).join(';'))
  database.exec(`
    INSERT INTO accounts VALUES ('a', 'a@example.com', 0), ('b', 'b@example.com', 0);
    INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
      VALUES ('c', 'p', 'a', '', '[]', 1, 0);
    INSERT INTO developer_tokens (jti, account_id, client_id, issued_at, expires_at) VALUES ('t', 'b', 'c', 0, 0);
    UPDATE counters SET value = 40 WHERE name = 'changes';
    UPDATE counters SET value = 70 WHERE name = 'revocations'`)
})
afterEach(() => database.close())

const all = (text: string) =>
  database
    .prepare(text)
    .all()
    .map((row) => ({ ...row }))

it('revokes and lists all tokens of each account that were issued until this second', () => {
  revokeAllAccounts(database, now, 3600)
  const common = {
    kind: 'account',
    not_before: second,
    expires_at: (second + 3600) * 1000,
    account_id: '',
    is_listed: 1,
    listed_until: (second + 86_520) * 1000,
    epoch: 40,
  }
  expect(all('SELECT * FROM revocations ORDER BY subject')).toEqual([
    { ...common, subject: 'a', seq: 71 },
    { ...common, subject: 'b', seq: 72 },
  ])
  expect(all('SELECT jti, revoked_at FROM developer_tokens')).toEqual([{ jti: 't', revoked_at: now }])
})

it('has no effect without accounts', () => {
  database.exec('DELETE FROM developer_tokens; DELETE FROM projects; DELETE FROM accounts')
  revokeAllAccounts(database, now, 3600)
  expect(all('SELECT seq FROM revocation_steps')).toEqual([])
})
