/** What devices can be filtered by: counted for one account, bounded, and shown again for a moment. */
import { sql } from '@selvedge/service-kit/store'
import { openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../storage/schema.ts'
import { createDeviceFacets } from './device-facets.ts'

let store: ReturnType<typeof openMemoryStore>
let now: number
let reads: number
let facetsOf: ReturnType<typeof createDeviceFacets>
beforeEach(() => {
  store = openMemoryStore(migrations)
  now = 0
  reads = 0
  const run = ((statement) => {
    reads++
    return store.run(statement)
  }) as typeof store.run
  facetsOf = createDeviceFacets({ ...store, run }, () => now)
})
afterEach(() => store.close())

const add = (nodeId: string, version: string, accountId = 'a') =>
  store.run(sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, version)
    VALUES (${nodeId}, 'n', ${accountId}, '', '', '', 0, 0, ${version})`)

it('values are of the account, the most frequent first, then by name; an empty one does not count', async () => {
  for (const [id, version] of [
    ['1', '1.0'],
    ['2', '2.0'],
    ['3', '2.0'],
    ['4', '0.9'],
    ['5', ''],
  ] as const)
    await add(id, version)
  await add('6', '9.0', 'b')
  const facets = await facetsOf('a')
  expect(facets).toEqual({
    tag: { values: [], isCut: false },
    service: { values: [], isCut: false },
    version: {
      values: [
        { value: '2.0', count: 2 },
        { value: '0.9', count: 1 },
        { value: '1.0', count: 1 },
      ],
      isCut: false,
    },
  })
})

it('a list has at most 100 values, and states that there are more', async () => {
  for (let at = 0; at < 100; at++) await add(`n${at}`, `v${at}`)
  expect((await facetsOf('a')).version).toMatchObject({ isCut: false, values: { length: 100 } })
  await add('more', 'more')
  now += 15_000
  const { values, isCut } = (await facetsOf('a')).version
  expect([values.length, isCut]).toEqual([100, true])
})

it('counts that reach the limit of what is read are marked', async () => {
  // As the statement gives it for an account with so many devices.
  const many = (counted: number) => ({
    ...store,
    run: async () => [{ value: '1.0', count: counted, counted }],
  })
  const isCut = async (counted: number) =>
    (await createDeviceFacets(many(counted) as never, () => 0)('a')).version.isCut
  expect([await isCut(499_999), await isCut(500_000)]).toEqual([false, true])
})

it('counts are shown again for 15 seconds, also to callers who come at once', async () => {
  await add('1', '1.0')
  const [one, other] = await Promise.all([facetsOf('a'), facetsOf('a')])
  expect(one).toBe(other)
  expect(reads).toBe(3)
  now = 14_999
  expect(await facetsOf('a')).toBe(one)
  now = 15_000
  expect(await facetsOf('a')).not.toBe(one)
  expect(reads).toBe(6)
  await facetsOf('b')
  expect(reads).toBe(9)
})

it('at most 1000 accounts are in memory: the oldest is read again', async () => {
  const first = await facetsOf('0')
  for (let at = 1; at < 1000; at++) await facetsOf(String(at))
  expect(await facetsOf('0')).toBe(first)
  const second = await facetsOf('1')
  await facetsOf('another')
  expect(await facetsOf('1')).toBe(second)
  expect(await facetsOf('0')).not.toBe(first)
})
