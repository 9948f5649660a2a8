/** Pages of an account's nodes on every store. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql, stepsOf } from '@selvedge/service-kit/store'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { createDeviceFacets } from './device-facets.ts'
import { createDeviceLabels } from './device-labels.ts'
import { createNodeLists, type NodeQuery } from './node-lists.ts'
import { createNodeRows, saveStatement } from './node-rows.ts'

const all = {
  search: '',
  tag: undefined,
  service: undefined,
  version: undefined,
  need: undefined,
  state: undefined,
  order: 'added',
  isDescending: false,
  size: 100,
  page: 0,
} as const

describeOnStores(
  '%s',
  (makeDatabase, storeName) => {
    let store: SqlStore
    let url: string
    let lists: ReturnType<typeof createNodeLists>
    const rows = createNodeRows(createSeal([Buffer.alloc(32)]))
    const add = async (
      nodeId: string,
      name: string,
      lastSeenAt: number,
      more: { version?: string; services?: string[] } = {},
    ) => {
      const hmac = { nodeKey: '', cloudKey: '', secret: '' }
      const services = (more.services ?? []).map((each) => ({
        id: each,
        name: each,
        image: '',
        state: 'running',
      }))
      const node = {
        ...{ nodeId, name, accountId: 'a', hmac, enrolledAt: lastSeenAt, lastSeenAt, blockedAt: null },
        ...{ version: '1.0.0', removedAccount: '', accountEpoch: 0, accountAt: 0, ...more, services },
      }
      await store.run(
        saveStatement({ node, sealedSecret: '', accountBefore: '', maxNodes: undefined, now: lastSeenAt }),
      )
    }
    beforeAll(async () => {
      url = await makeDatabase()
      store = await openSql(url, migrations)
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
      // Equal ones are in the order of their IDs.
      expect((await pageOf({ order, isDescending: true })).names).toEqual(names.toReversed())
    })

    it('finds parts of names and the beginning of IDs, and no patterns', async () => {
      expect((await pageOf({ search: 'VAN' })).names).toEqual(['van-2', 'Van-1'])
      expect((await pageOf({ search: 'bb' })).total).toBe(2)
      expect((await pageOf({ search: '%' })).names).toEqual(['kiosk_50%'])
      expect((await pageOf({ search: '_' })).names).toEqual(['kiosk_50%'])
      expect((await pageOf({ search: '!' })).names).toEqual([])
      expect((await pageOf({ search: '!%' })).names).toEqual([])
      expect((await pageOf({ search: "'; DROP" })).names).toEqual(['pump'])
      expect((await pageOf({ search: 'van', state: 'away' })).counts).toEqual({
        online: 1,
        away: 1,
        blocked: 0,
      })
    })

    it('lists all nodes as they were added, those of an account, and some after others', async () => {
      const idsOf = (nodes: readonly { nodeId: string }[]) => nodes.map(({ nodeId }) => nodeId)
      expect(idsOf(await lists.list())).toEqual(['aa01', 'bb03', 'ab02', 'bb04'])
      expect(idsOf(await lists.list('a'))).toEqual(['aa01', 'bb03', 'ab02', 'bb04'])
      expect(await lists.list('b')).toEqual([])
      const filter = { ...all, onlineSince: 2000 }
      const [first, second] = await lists.after('a', filter, undefined, 2)
      expect([first!.node.nodeId, second!.node.nodeId]).toEqual(['aa01', 'bb03'])
      expect(first!.label).toEqual({ name: '', tags: [] })
      const third = await lists.after('a', { ...filter, state: 'online' }, first!.node, 1)
      expect(idsOf(third.map(({ node }) => node))).toEqual(['bb03'])
      const last = await lists.after('a', filter, second!.node, 9)
      expect(idsOf(last.map(({ node }) => node))).toEqual(['ab02', 'bb04'])
    })

    it('lists when nodes were last seen, and which are blocked', async () => {
      const filter = { ...all, onlineSince: 2000 }
      const some = await lists.standings('a', filter, undefined, 2)
      expect(some).toEqual([
        { nodeId: 'aa01', lastSeenAt: 1000, isBlocked: false },
        { nodeId: 'bb03', lastSeenAt: 2000, isBlocked: false },
      ])
      expect(await lists.standings('a', filter, some[1], 9)).toEqual([
        { nodeId: 'ab02', lastSeenAt: 3000, isBlocked: false },
        { nodeId: 'bb04', lastSeenAt: 4000, isBlocked: true },
      ])
      const blocked = await lists.standings('a', { ...filter, state: 'blocked' }, some[0], 9)
      expect(blocked.map(({ nodeId }) => nodeId)).toEqual(['bb04'])
    })

    it('finds what devices need', async () => {
      await store.run(sql`INSERT INTO device_needs (account_id, node_id, need) VALUES ('a', 'bb03', 'disk')`)
      expect((await pageOf({ need: 'disk' })).names).toEqual(['kiosk_50%'])
      expect((await pageOf({ need: 'disk', search: 'van' })).names).toEqual([])
      expect((await pageOf({ need: 'clock' })).names).toEqual([])
    })

    it('finds labels, orders by them, and hides those of another account', async () => {
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

    it('finds tags, services and versions, and follows what a device states', async () => {
      const labels = createDeviceLabels(store)
      await add('ac01', 'filtered', 5000, {
        version: '2.0.0',
        services: ['gateway', 'gateway', "x' OR 1=1", ''],
      })
      await labels.set('a', 'ac01', { name: '', tags: ['type:van', 'x'] })
      const found = async (query: Partial<NodeQuery>) => (await pageOf(query)).names
      expect(await found({ service: 'gateway', version: '2.0.0', tag: 'x', search: 'filt' })).toEqual([
        'filtered',
      ])
      expect(await found({ service: "x' OR 1=1" })).toEqual(['filtered'])
      expect(await found({ service: '' })).toEqual([])
      expect(await found({ tag: 'type:van', order: 'name' })).toContain('filtered')
      expect(await found({ tag: 'X' })).toEqual([])
      await add('ac01', 'filtered', 5000, { version: '2.0.1', services: ['camera'] })
      expect(await found({ service: 'gateway' })).toEqual([])
      expect(await found({ service: 'camera', version: '2.0.1', tag: 'x' })).toEqual(['filtered'])
      await labels.tag('a', 'ac01', { add: ['y', 'y'], remove: ['x', 'never'] })
      expect(await labels.find('a', 'ac01')).toEqual({ name: '', tags: ['type:van', 'y'] })
      expect(await found({ tag: 'x' })).toEqual([])
      expect((await createDeviceFacets(store)('a')).service.values).toEqual([{ value: 'camera', count: 1 }])
      // In another account it has its services, and no tag.
      await store.run({ sql: "UPDATE nodes SET account_id = 'c' WHERE node_id = 'ac01'", values: [] })
      const facets = await createDeviceFacets(store)('c')
      expect(facets.service.values).toEqual([{ value: 'camera', count: 1 }])
      expect(facets.tag.values).toEqual([])
      expect(await found({ service: 'camera' })).toEqual([])
      await store.run({ sql: "UPDATE nodes SET account_id = '' WHERE node_id = 'ac01'", values: [] })
      const [row] = await store.run(sql`SELECT COUNT(*) AS count FROM device_facets WHERE node_id = 'ac01'`)
      expect(Number(row!.count)).toBe(0)
      await store.run({ sql: "DELETE FROM nodes WHERE node_id = 'ac01'", values: [] })
    })

    it.each(['\u0000', '\ud800', '\u202e', '"', '\\', '{', '🚐'])(
      'stores a device with a service of the name %j',
      async (name) => {
        await add('ad01', 'odd', 5000, { services: [name, 'plain'] })
        expect((await pageOf({ search: 'odd' })).names).toEqual(['odd'])
        await store.run({ sql: "DELETE FROM nodes WHERE node_id = 'ad01'", values: [] })
      },
    )

    /** Rows of a device's facets, as they are stored and as they have to be. */
    const facetsOf = async (nodeId: string) => {
      const [stored, right] = ['device_facets', 'node_facets'].map((table) =>
        store.run({
          sql: `SELECT kind, value FROM ${table} WHERE node_id = '${nodeId}' ORDER BY kind, value`,
          values: [],
        }),
      )
      return { stored: await stored, right: await right }
    }

    it('does not lose a change of a label while the device states something else', async () => {
      const labels = createDeviceLabels(store)
      await add('ae01', 'busy', 6000)
      for (let round = 0; round < 60; round++) {
        await Promise.all([
          add('ae01', `busy ${round}`, 6000, { services: [`s${round}`] }),
          labels.set('a', 'ae01', { name: `label ${round}`, tags: [`t:${round}`] }),
          add('ae01', `busier ${round}`, 6000, { version: `2.${round}.0` }),
        ])
        const { stored, right } = await facetsOf('ae01')
        expect(stored).toEqual(right)
      }
      await store.run({ sql: "DELETE FROM nodes WHERE node_id = 'ae01'", values: [] })
    })

    const renamed = "UPDATE nodes SET name = 'van-9', version = '9.0.0' WHERE node_id = 'ae02'"
    const tagged = `UPDATE device_labels SET tags = '["new"]' WHERE node_id = 'ae02'`

    // SQLite has one writer at a time.
    if (storeName === 'postgres')
      it.each([
        ['the label', renamed, tagged],
        ['the device', tagged, renamed],
      ])(
        'waits with a change of %s for a transaction that changes the same device',
        async (_, first, second) => {
          await add('ae02', 'van-8', 6000)
          await createDeviceLabels(store).set('a', 'ae02', { name: 'old', tags: ['old'] })
          const other = new pg.Client(url)
          await other.connect()
          await other.query('BEGIN')
          await other.query(first)
          const changed = store.run({ sql: second, values: [] })
          await expect.poll(() => store.run(sql`SELECT 1 FROM pg_locks WHERE NOT granted`)).toHaveLength(1)
          await other.query('COMMIT')
          await other.end()
          await changed
          const { stored, right } = await facetsOf('ae02')
          expect(stored).toEqual(right)
          expect(stored).toContainEqual({ kind: 'tag', value: 'new' })
          expect(stored).toContainEqual({ kind: 'version', value: '9.0.0' })
          await store.run({ sql: "DELETE FROM nodes WHERE node_id = 'ae02'", values: [] })
        },
      )

    it('is made from a database of the version before, which continues to write beside it', async () => {
      const url = await makeDatabase()
      const before = await openSql(url, stepsOf(migrations))
      const write = (nodeId: string, version: string) =>
        before.run(
          sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, version, services)
          VALUES (${nodeId}, 'van', 'a', '', '', '', 0, 0, ${version}, '[{"id":"s","name":"gateway","image":"","state":""}]')
          ON CONFLICT (node_id) DO UPDATE SET version = excluded.version`,
        )
      await write('af01', '1.0.0')
      await write('af02', '1.0.0')
      const after = await openSql(url, migrations)
      const own = createNodeLists(after, rows)
      const versions = async () => (await createDeviceFacets(after)('a')).version.values
      const found = async (query: Partial<NodeQuery>) =>
        (await own.page('a', { ...all, onlineSince: 0, ...query })).nodes.map(({ node }) => node.nodeId)
      expect(await versions()).toEqual([{ value: '1.0.0', count: 2 }])
      await createDeviceLabels(after).set('a', 'af01', { name: '', tags: ['kept'] })
      await write('af01', '1.1.0')
      await write('af03', '1.1.0')
      expect(await found({ version: '1.1.0', service: 'gateway' })).toEqual(['af01', 'af03'])
      expect(await found({ tag: 'kept' })).toEqual(['af01'])
      await before.run(sql`DELETE FROM nodes WHERE node_id = 'af01'`)
      expect(await found({ tag: 'kept' })).toEqual([])
      // The version before starts on it again, and then this one.
      await before.close()
      await after.close()
      await (await openSql(url, stepsOf(migrations))).close()
      const again = await openSql(url, migrations)
      expect((await createDeviceFacets(again)('a')).version.values).toHaveLength(2)
      await again.close()
    })

    it('has pages, and nothing of another account', async () => {
      expect((await pageOf({ size: 2, page: 1 })).names).toEqual(['pump'])
      expect((await pageOf({ size: 3, page: 2 })).names).toEqual([])
      const { total } = await lists.page('b', { ...all, onlineSince: 0 })
      expect(total).toBe(0)
    })
  },
  migrations,
)
