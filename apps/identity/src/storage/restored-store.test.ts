import { DatabaseSync } from 'node:sqlite'
import { stepsOf } from '@selvedge/service-kit/store'
import { expect, it } from 'vitest'
import { appTables } from './app-tables.ts'
import { continueNumbers, endSingleUse, expectReadable } from './restored-store.ts'
import { migrations } from './schema.ts'
import { createSeal } from './secrets/seal.ts'

function createStore(number: number): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  for (const step of stepsOf(migrations)) database.exec(step)
  database.exec(`UPDATE counters SET value = ${number}`)
  return database
}
const numbersOf = (database: DatabaseSync) =>
  database
    .prepare('SELECT value FROM counters ORDER BY name')
    .all()
    .map(({ value }) => value)

it.each([
  ['of the present time', 100, 200, 5000, 5001],
  ['of the replaced store, if the clock is behind', 100, 9000, 5000, 9001],
  ['of its own, if the clock is behind', 9000, 200, 5000, 9001],
])('numbers continue above that %s', (_, own, replaced, now, expected) => {
  const restored = createStore(own)
  continueNumbers(restored, createStore(replaced), now)
  expect(numbersOf(restored)).toEqual([expected, expected])
})

it('a replaced store that cannot be read hinders nothing', () => {
  const restored = createStore(1)
  continueNumbers(restored, new DatabaseSync(':memory:'), 5000)
  continueNumbers(restored, undefined, 6000)
  expect(numbersOf(restored)).toEqual([6001, 6001])
})

it('removes codes and links that may have been used after the backup', () => {
  const restored = createStore(1)
  restored.exec(`INSERT INTO enrolment_codes VALUES ('hash', 1, '');
    INSERT INTO links VALUES ('id', 'hash', 'invitation', '', 'member', '', '', 1, 1, '');
    INSERT INTO one_time VALUES ('hash', 'totp', '{}', 1)`)
  // Of an earlier version: it has no table of pushed requests.
  endSingleUse(restored)
  for (const { sqlite } of appTables) restored.exec(sqlite)
  restored.exec(`INSERT INTO pushed_requests VALUES ('hash', 'c', 'form', '', 1)`)
  endSingleUse(restored)
  for (const table of ['enrolment_codes', 'links', 'one_time', 'pushed_requests'])
    expect(restored.prepare(`SELECT COUNT(*) AS rows FROM ${table}`).get()).toEqual({ rows: 0 })
})

it('removes what waits, sessions of browsers, and replicas; people and sign-ins stay', () => {
  const restored = createStore(1)
  for (const { sqlite } of appTables) restored.exec(sqlite)
  restored.exec(`INSERT INTO people VALUES ('ada', 'ada', '', 0);
    INSERT INTO sessions VALUES ('s', 'h', 'ada', 'a', 0, 'password', 0, 0, 9, '', '', 'key');
    INSERT INTO app_consents VALUES ('s', 'c', 'a', '');
    INSERT INTO replicas VALUES ('r', 0);
    INSERT INTO device_requests VALUES ('h', 'u', 'c', '', '', '', '', 0, 9, 5, 0, 0, '', 'sid', NULL, 'a', 'ada', '', 0, NULL, '');
    INSERT INTO authorization_codes VALUES ('h', 'id', 'c', '', '', '', '', '', '', '', 'a', 'ada', '', 0, 0, '', 9, NULL)`)
  endSingleUse(restored)
  for (const table of ['sessions', 'app_consents', 'replicas', 'device_requests', 'authorization_codes'])
    expect(restored.prepare(`SELECT COUNT(*) AS rows FROM ${table}`).get(), table).toEqual({ rows: 0 })
  expect(restored.prepare('SELECT COUNT(*) AS rows FROM people').get()).toEqual({ rows: 1 })
})

it('keys of a store from before encryption can be read, and a refusal leaves the store to the operator', () => {
  const restored = createStore(1)
  const [own, other] = [createSeal([Buffer.alloc(32, 1)]), createSeal([Buffer.alloc(32, 2)])]
  const insert = restored.prepare(`INSERT INTO signing_keys VALUES (?, ?, 'retired', 1)`)
  insert.run('plain', '{"d":"x"}')
  expect(() => expectReadable(restored, own, String)).not.toThrow()
  insert.run('sealed', own.close('{}', 'sealed'))
  expect(() => expectReadable(restored, other, String)).toThrow(
    expect.objectContaining({ name: 'StoreError', isUnrepairable: true, cause: expect.any(Error) }),
  )
})

it.each(['signing_keys', 'rsa_signing_keys'])(
  'refuses a backup with %s that were encrypted with another key',
  (table) => {
    const [own, other] = [createSeal([Buffer.alloc(32, 1)]), createSeal([Buffer.alloc(32, 2)])]
    const restored = createStore(1)
    for (const { sqlite } of appTables) restored.exec(sqlite)
    restored.prepare(`INSERT INTO ${table} VALUES ('kid', ?, 'active', 1)`).run(own.close('{}', 'for kid'))
    const purposeOf = (kid: string) => `for ${kid}`
    expect(() => expectReadable(restored, own, purposeOf)).not.toThrow()
    expect(() => expectReadable(restored, other, purposeOf)).toThrow('encrypted with other keys')
  },
)

it('reads the backup of a version without RSA keys', () => {
  const restored = createStore(1)
  expect(() => expectReadable(restored, createSeal([Buffer.alloc(32, 1)]), String)).not.toThrow()
})
