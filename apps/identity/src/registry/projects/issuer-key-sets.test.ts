/** Stored key sets of issuers: which one stays of several, and which is not read. */
import { sql } from '@selvedge/service-kit/store'
import { openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createIssuerKeySets, type IssuerKeySets } from './issuer-key-sets.ts'

const issuer = { issuer: 'https://issuer.example', allowsPrivate: false }
let store: ReturnType<typeof openMemoryStore>
let sets: IssuerKeySets

beforeEach(() => {
  store = openMemoryStore(migrations)
  sets = createIssuerKeySets(store)
})
afterEach(() => store.close())

const at = (fetchedAt: number, text = 'x') => ({ keySet: { keys: [text] }, fetchedAt })

it('is read as it was stored, for the same issuer', async () => {
  expect(await sets.load(issuer)).toBeUndefined()
  await sets.save(issuer, at(1000))
  expect(await sets.load(issuer)).toEqual(at(1000))
  expect(await sets.load({ ...issuer, issuer: 'https://other.example' })).toBeUndefined()
})

it('from a private network is not for rules that do not allow one', async () => {
  await sets.save({ ...issuer, allowsPrivate: true }, at(1000, 'private'))
  expect(await sets.load(issuer)).toBeUndefined()
  await sets.save(issuer, at(1000, 'public'))
  expect(await sets.load({ ...issuer, allowsPrivate: true })).toEqual(at(1000, 'private'))
  expect(await sets.load(issuer)).toEqual(at(1000, 'public'))
})

it('has the same name for every version, since replicas of two versions may share a database', async () => {
  await sets.save(issuer, at(1))
  await sets.save({ ...issuer, allowsPrivate: true }, at(1))
  const rows = await store.run(sql`SELECT issuer_key FROM issuer_key_sets ORDER BY issuer_key`)
  expect(rows.map((row) => row.issuer_key)).toEqual([
    'private https://issuer.example',
    'public https://issuer.example',
  ])
})

it('is replaced by a newer one, and by one that shows that the stored time was wrong', async () => {
  await sets.save(issuer, at(1_000_000))
  for (const older of [1_000_000, 999_999, 940_000]) {
    await sets.save(issuer, at(older, 'older'))
    expect(await sets.load(issuer)).toEqual(at(1_000_000))
  }
  await sets.save(issuer, at(1_000_001, 'newer'))
  expect(await sets.load(issuer)).toEqual(at(1_000_001, 'newer'))
  await sets.save(issuer, at(940_000, 'clock'))
  expect(await sets.load(issuer)).toEqual(at(940_000, 'clock'))
})

it('has at most 72,000 characters, also if another program wrote a longer one', async () => {
  const longest = { keySet: 'x'.repeat(71_998), fetchedAt: 1 }
  await sets.save(issuer, { keySet: 'x'.repeat(71_999), fetchedAt: 1 })
  expect(await sets.load(issuer)).toBeUndefined()
  await sets.save(issuer, longest)
  expect(await sets.load(issuer)).toEqual(longest)
  await store.run(sql`UPDATE issuer_key_sets SET key_set = key_set || ' '`)
  expect(await sets.load(issuer)).toBeUndefined()
})

it('that is no JSON counts as absent', async () => {
  await sets.save(issuer, at(1))
  await store.run(sql`UPDATE issuer_key_sets SET key_set = '{'`)
  expect(await sets.load(issuer)).toBeUndefined()
})
