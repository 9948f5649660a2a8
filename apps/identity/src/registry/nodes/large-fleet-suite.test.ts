/**
 * Thousands of devices of one account on every store: lists, and the time of each on this machine. `SELVEDGE_FLEET=100000` is the
 * size that docs/people.md has the times of.
 */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, type Statement, sql, stepsOf } from '@selvedge/service-kit/store'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { createDeviceFacets } from './device-facets.ts'
import type { NodeFilter } from './node-filter.ts'
import { createNodeLists, type NodeQuery } from './node-lists.ts'
import { createNodeRows } from './node-rows.ts'

const devices = Number(process.env.SELVEDGE_FLEET ?? 3000)
/** Every tenth one is of another account. */
const nodes = Math.round(devices / 0.9)
/** The first ones have a tag. */
const tagged = 3 * Math.round(0.027 * nodes)
/** How many devices of the account have a number that fits. */
const count = (fits: (at: number) => boolean): number =>
  Array.from({ length: nodes }, (_, at) => at).filter((at) => at % 10 !== 9 && fits(at)).length
const lastPage = devices / 100 - 1
const online = 50_000_000
const every: NodeFilter = {
  ...{
    need: undefined,
    search: '',
    state: undefined,
    tag: undefined,
    service: undefined,
    version: undefined,
  },
  onlineSince: online,
}
const first: NodeQuery = { ...every, order: 'added', isDescending: false, size: 100, page: 0 }

/** A fleet as the version before stored it. */
const fleet = (): Statement => {
  const services = JSON.stringify(
    ['gateway', 'camera', 'unit-@'].map((name) => ({
      id: `${name}.0123456789abcdef0123456789abcdef`,
      ...{ name, image: `registry.example/fleet/${name}:1.4.2`, state: 'running' },
    })),
  )
  return sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at,
      last_seen_at, blocked_at, version, services)
    WITH RECURSIVE numbers (at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM numbers WHERE at < ${nodes - 1})
    SELECT 'node' || (1000000 + (at * 7919) % 1000003) || 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'Van ' || at,
      CASE WHEN at % 10 = 9 THEN 'b' ELSE 'a' END, CAST(${'k'.repeat(180)} AS TEXT), CAST(${'k'.repeat(180)} AS TEXT),
      'secret', at / 3, (at * 997) % 100000000, CASE WHEN at % 100 = 0 THEN 1 END, '1.' || (at % 7) || '.0',
      REPLACE(CAST(${services} AS TEXT), '@', CAST(at % 500 AS TEXT)) FROM numbers`
}

describeOnStores('%s', (makeDatabase, kind) => {
  let store: SqlStore
  let lists: ReturnType<typeof createNodeLists>
  const times: [string, number][] = []
  async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
    const from = performance.now()
    const result = await work()
    times.push([what, Math.round(performance.now() - from)])
    return result
  }

  beforeAll(async () => {
    const url = await makeDatabase()
    const before = await openSql(url, stepsOf(migrations))
    await before.run({ ...fleet(), timeoutMs: 120_000 })
    await before.close()
    store = await timed('upgrade of the database', () => openSql(url, migrations))
    lists = createNodeLists(store, createNodeRows(createSeal([Buffer.alloc(32)])))
    const tags = sql`INSERT INTO device_labels SELECT node_id, account_id, '', '["type:van"]' FROM nodes
      WHERE account_id = 'a' AND enrolled_at < ${tagged / 3}`
    await timed(`tags of ${tagged} devices`, () => store.run({ ...tags, timeoutMs: 120_000 }))
    if (kind === 'postgres') await store.run(sql`ANALYZE`)
  })
  afterAll(async () => {
    console.info(`${kind}, ${devices} devices, ms: ${times.map(([what, ms]) => `${what} ${ms}`).join('; ')}`)
    await store?.close()
  })

  it.each<[string, Partial<NodeQuery>, number]>([
    ['the first page', {}, devices],
    ['the last page', { page: lastPage }, devices],
    ['by name', { order: 'name' }, devices],
    ['by name, backwards, the last page', { order: 'name', isDescending: true, page: lastPage }, devices],
    ['by version', { order: 'version', isDescending: true }, devices],
    ['last seen', { order: 'seen', isDescending: true }, devices],
    ['a search that finds all', { search: 'van' }, devices],
    ['a search that finds one', { search: `van ${nodes - 1}` }, 1],
    ['a search without a result', { search: 'zzz' }, 0],
    ['a tag', { tag: 'type:van' }, count((at) => at < tagged)],
    ['a service of all', { service: 'camera', order: 'seen' }, devices],
    ['a service of few', { service: 'unit-7' }, count((at) => at % 500 === 7)],
    ['a version', { version: '1.3.0', order: 'name' }, count((at) => at % 7 === 3)],
    ['all filters', { version: '1.3.0', tag: 'type:van', service: 'camera', search: '7' }, 0],
  ])('lists %s', async (what, query, total) => {
    const page = await timed(what, () => lists.page('a', { ...first, ...query }))
    if (what !== 'all filters') expect(page.total).toBe(total)
    expect(page.nodes).toHaveLength(Math.min(100, page.total))
  })

  it('reads all of it in pages, each device once', async () => {
    const seen = new Set<string>()
    await timed('all of it, in pages of 500', async () => {
      for (let last: Parameters<typeof lists.after>[2]; ; ) {
        const some = await lists.after('a', every, last, 500)
        for (const { node } of some) seen.add(node.nodeId)
        last = some.at(-1)?.node
        if (!last) return
      }
    })
    expect(seen.size).toBe(devices)
  })

  it('counts what devices can be filtered by', async () => {
    const facets = await timed('facets', () => createDeviceFacets(store)('a'))
    expect(facets.version.values).toHaveLength(7)
    expect(facets.tag).toEqual({
      values: [{ value: 'type:van', count: count((at) => at < tagged) }],
      isCut: false,
    })
    expect(facets.service.values.slice(0, 2)).toEqual([
      { value: 'camera', count: devices },
      { value: 'gateway', count: devices },
    ])
    expect(facets.service.values).toHaveLength(100)
    expect(facets.service.isCut).toBe(true)
  })
})
