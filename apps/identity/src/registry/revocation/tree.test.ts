/** Developer ID tokens and sign-ins are revoked with every sign-in that came from them. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { type Changes, openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { openRevocations, type Revocations } from './revocations.ts'

const clock = createFakeClock()
const now = clock.now()
/** A day and three minutes: the longest life of an access token, and the differences of clocks. */
const afterwards = (86_400 + 180) * 1000
let store: SqlStore
let changes: Changes
let revocations: Revocations
/** Accounts that were checked for too many revocations. */
let checked: string[]
beforeEach(async () => {
  store = openMemoryStore(migrations)
  changes = await openChanges({ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 1e12 })
  checked = []
  const check = async (accountId: string) => checked.push(accountId) < 0
  revocations = await openRevocations(store, clock, changes, 3600, { ...noFolding, check })
  await store.transaction([
    sql`INSERT INTO accounts VALUES ('a', 'a@example.com', 0)`,
    sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
      VALUES ('c', 'p', 'a', '', '[]', 1, 0)`,
  ])
  for (const jti of ['token', 'other'])
    await store.run(sql`INSERT INTO developer_tokens (jti, account_id, client_id, issued_at, expires_at)
      VALUES (${jti}, 'a', 'c', 0, ${now + 5000})`)
  await addSignIn('child', 'token')
  await addSignIn('grandchild', 'child')
  await addSignIn('unrelated', 'other')
})
afterEach(async () => {
  await changes.stop()
  await store.close()
})

const addSignIn = (sid: string, origin: string) =>
  store.run(sql`INSERT INTO sign_ins (sid, client_id, account_id, person_id, email, node_id, origin, scope, audience, jkt,
      auth_time, created_at, expires_at, generation, rotations, last_used_at, described)
    VALUES (${sid}, 'c', 'b', '', '', 'n', ${origin}, '', '', '', 0, 0, ${now + 9000}, 0, '', 0, '')`)
const roots = sql`SELECT jti AS id FROM developer_tokens WHERE jti = ${'token'}`
const marked = () =>
  store.run(sql`SELECT jti AS id, revoked_at FROM developer_tokens WHERE revoked_at IS NOT NULL
    UNION SELECT sid, revoked_at FROM sign_ins WHERE revoked_at IS NOT NULL ORDER BY 1`)
const revoked = () => store.run(sql`SELECT * FROM revocations ORDER BY subject`)

it('marks and lists them, until every token that came from them has expired', async () => {
  const { isNews } = await revocations.revokeTree(roots)
  expect(isNews).toBe(true)
  expect(await marked()).toEqual(['child', 'grandchild', 'token'].map((id) => ({ id, revoked_at: now })))
  const [step] = await store.run(sql`SELECT seq FROM revocation_steps`)
  const common = {
    kind: 'id',
    not_before: now / 1000,
    seq: step!.seq,
    is_listed: 1,
    listed_until: now + afterwards,
    epoch: changes.epoch(),
  }
  expect(await revoked()).toEqual([
    { ...common, subject: 'child', account_id: 'b', expires_at: now + afterwards },
    { ...common, subject: 'grandchild', account_id: 'b', expires_at: now + afterwards },
    { ...common, subject: 'token', account_id: 'a', expires_at: now + 5000 + afterwards },
  ])
  for (const id of ['token', 'child', 'grandchild']) expect(revocations.isRevoked(id)).toBe(true)
  for (const id of ['other', 'unrelated']) expect(revocations.isRevoked(id)).toBe(false)
})

it('checks the bound of each account once, and notifies the other replicas', async () => {
  await revocations.revokeTree(roots)
  expect(checked.toSorted()).toEqual(['a', 'b'])
  expect(await store.run(sql`SELECT topic, subject FROM changes`)).toEqual([
    { topic: 'revocation', subject: '' },
  ])
})

it('a second time revokes nothing again, and completes what came from it since', async () => {
  await revocations.revokeTree(roots)
  const before = await revoked()
  clock.advance(1000)
  expect((await revocations.revokeTree(roots)).isNews).toBe(false)
  expect(await revoked()).toEqual(before)
  await addSignIn('late', 'grandchild')
  expect((await revocations.revokeTree(roots)).isNews).toBe(true)
  expect(await revoked()).toHaveLength(4)
  expect((await marked()).find(({ id }) => id === 'token')).toEqual({ id: 'token', revoked_at: now })
  clock.set(now)
})

it('is one transaction with what else it changes, with the rows of that first', async () => {
  const more = {
    statements: [sql`INSERT INTO settings VALUES ('x', 'y') RETURNING name`],
    noted: [['person', 'ada']] as const,
  }
  const { rows } = await revocations.revokeTree(roots, more)
  expect(rows[0]).toEqual([{ name: 'x' }])
  expect(await store.run(sql`SELECT topic, subject FROM changes ORDER BY seq`)).toEqual([
    { topic: 'revocation', subject: '' },
    { topic: 'person', subject: 'ada' },
  ])
})

it('an identifier that is neither has no account, and checks no bound', async () => {
  expect((await revocations.revokeTree(sql`SELECT 'unknown' AS id`)).isNews).toBe(true)
  expect(await revoked()).toMatchObject([{ subject: 'unknown', account_id: '' }])
  expect(checked).toEqual([])
})
