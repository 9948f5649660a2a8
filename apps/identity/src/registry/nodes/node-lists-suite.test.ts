/** Pages of an account's nodes on every store. */
import { openSql } from '@selvedge/service-kit/sql'
import type { SqlStore } from '@selvedge/service-kit/store'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { createDeviceLabels } from './device-labels.ts'
import { createNodeLists, type NodeQuery } from './node-lists.ts'
import { createNodeRows, saveStatement } from './node-rows.ts'

const all = {
  search: '',
  tag: undefined,
  service: undefined,
  version: undefined,
  state: undefined,
  order: 'added',
  isDescending: false,
  size: 100,
  page: 0,
} as const

describeOnStores('%s', (makeDatabase) => {
  let store: SqlStore
  let lists: ReturnType<typeof createNodeLists>
  const rows = createNodeRows(createSeal([Buffer.alloc(32)]))
  const add = async (nodeId: string, name: string, lastSeenAt: number, more: { version?: string } = {}) => {
    const hmac = { nodeKey: '', cloudKey: '', secret: '' }
    const node = {
      ...{ nodeId, name, accountId: 'a', hmac, enrolledAt: lastSeenAt, lastSeenAt, blockedAt: null },
      ...{ version: '1.0.0', services: [], removedAccount: '', accountEpoch: 0, accountAt: 0, ...more },
    }
    await store.run(
      saveStatement({ node, sealedSecret: '', accountBefore: '', maxNodes: undefined, now: lastSeenAt }),
    )
  }
  beforeAll(async () => {
    store = await openSql(await makeDatabase(), migrations)
    lists = createNodeLists(store, rows)
    await add('aa01', 'van-2', 1000)
    await add('ab02', 'Van-1', 3000, { version: '1.1.0' })
    await add('bb03', 'kiosk_50%', 2000)
    await add('bb04', "pump'; DROP TABLE nodes; --", 4000)
    await store.run({ sql: "UPDATE nodes SET blocked_at = 1 WHERE node_id = 'bb04'", values: [] })
  })
  afterAll(() => store?.close())

  const pageOf = async (query: Partial<NodeQuery>) => {
    const { nodes, total, counts } = await lists.page('a', { ...all, onlineSince: 2000, ...query })
    return { names: nodes.map(({ node }) => node.name.split("'")[0]), total, counts }
  }
  const counts = { online: 2, away: 1, blocked: 1 }

  it('counts each state, whatever state is shown', async () => {
    expect(await pageOf({})).toEqual({ names: ['van-2', 'kiosk_50%', 'Van-1', 'pump'], total: 4, counts })
    expect(await pageOf({ state: 'online' })).toEqual({ names: ['kiosk_50%', 'Van-1'], total: 2, counts })
    expect(await pageOf({ state: 'away' })).toEqual({ names: ['van-2'], total: 1, counts })
    expect(await pageOf({ state: 'blocked' })).toEqual({ names: ['pump'], total: 1, counts })
  })

  it.each([
    ['name', ['kiosk_50%', 'pump', 'Van-1', 'van-2']],
    ['seen', ['van-2', 'kiosk_50%', 'Van-1', 'pump']],
    ['version', ['van-2', 'kiosk_50%', 'pump', 'Van-1']],
  ] as const)('orders by %s, both ways', async (order, names) => {
    expect((await pageOf({ order })).names).toEqual(names)
    // Equal ones stay in the order of their IDs.
    const backwards = order === 'version' ? ['Van-1', 'van-2', 'kiosk_50%', 'pump'] : names.toReversed()
    expect((await pageOf({ order, isDescending: true })).names).toEqual(backwards)
  })

  it('finds parts of names and the beginning of IDs, and no patterns', async () => {
    expect((await pageOf({ search: 'VAN' })).names).toEqual(['van-2', 'Van-1'])
    expect((await pageOf({ search: 'bb' })).total).toBe(2)
    expect((await pageOf({ search: '%' })).names).toEqual(['kiosk_50%'])
    expect((await pageOf({ search: '_' })).names).toEqual(['kiosk_50%'])
    expect((await pageOf({ search: "'; DROP" })).names).toEqual(['pump'])
    expect((await pageOf({ search: 'van', state: 'away' })).counts).toEqual({
      online: 1,
      away: 1,
      blocked: 0,
    })
  })

  it('finds labels, orders by them, and shows none of another account', async () => {
    const labels = createDeviceLabels(store)
    await labels.set('a', 'aa01', { name: 'Zebra', tags: ['type:van', 'a_b'] })
    await labels.set('a', 'ab02', { name: '', tags: ['type:vans'] })
    // Of an account that does not have the device: nothing is stored.
    await labels.set('b', 'bb03', { name: 'stolen', tags: [] })
    expect((await pageOf({ search: 'zebra' })).names).toEqual(['van-2'])
    expect((await pageOf({ search: 'type:' })).names).toEqual(['van-2', 'Van-1'])
    expect((await pageOf({ tag: 'type:van' })).names).toEqual(['van-2'])
    expect((await pageOf({ tag: 'aXb' })).names).toEqual([])
    expect((await pageOf({ order: 'name' })).names).toEqual(['kiosk_50%', 'pump', 'Van-1', 'van-2'])
    expect(await labels.find('a', 'aa01')).toEqual({ name: 'Zebra', tags: ['type:van', 'a_b'] })
    await store.run({ sql: "UPDATE nodes SET account_id = 'b' WHERE node_id = 'aa01'", values: [] })
    const { nodes } = await lists.page('b', { ...all, onlineSince: 0 })
    expect(nodes.map(({ label }) => label)).toEqual([{ name: '', tags: [] }])
    expect((await lists.page('b', { ...all, search: 'zebra', onlineSince: 0 })).total).toBe(0)
    expect(await labels.find('b', 'aa01')).toEqual({ name: '', tags: [] })
    await store.run({ sql: "UPDATE nodes SET account_id = 'a' WHERE node_id = 'aa01'", values: [] })
    await store.run({ sql: "DELETE FROM nodes WHERE node_id = 'ab02'", values: [] })
    expect(await labels.find('a', 'ab02')).toEqual({ name: '', tags: [] })
  })

  it('has pages, and nothing of another account', async () => {
    expect((await pageOf({ size: 2, page: 1 })).names).toEqual(['pump'])
    expect((await pageOf({ size: 3, page: 2 })).names).toEqual([])
    const { total } = await lists.page('b', { ...all, onlineSince: 0 })
    expect(total).toBe(0)
  })
})
