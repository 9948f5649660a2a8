/** What needs a person and what happened, on every store: only the account that has the device sees it, and no device fills the table. */
import type { DeviceVitals } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import type { SqlStore } from '@selvedge/service-kit/store'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { migrations } from '../../storage/schema.ts'
import { createDeviceHistory, type DeviceHistory, maxDeviceEvents } from './device-history.ts'
import { createReadAttention, type ReadAttention, writeNeeds } from './device-needs.ts'
import { createNodeLists, type NodeLists } from './node-lists.ts'
import { saveStatement } from './node-rows.ts'

const failed = [{ id: 'p-a', name: 'a', image: 'x', state: 'failed' }]
const vitals: DeviceVitals = {
  ...{ arch: 'arm64', addresses: [], uptimeSeconds: 1, cores: 1, load: 0, clock: 'unknown' },
  ...{ memory: { usedBytes: 1, totalBytes: 2 }, disk: { usedBytes: 99, totalBytes: 100 } },
  ...{ revocationsAgeSeconds: null, notices: [], services: [] },
}
const nothing = { failing: 0, disk: 0, clock: 0, certificate: 0 }

describeOnStores('%s', (makeDatabase) => {
  let store: SqlStore
  let attention: ReadAttention
  let history: DeviceHistory
  let lists: NodeLists
  const save = async (nodeId: string, accountId: string, lastSeenAt: number, accountBefore = '') => {
    const node = {
      ...{ nodeId, name: nodeId, accountId, hmac: { nodeKey: '', cloudKey: '', secret: '' }, enrolledAt: 1 },
      ...{
        lastSeenAt,
        blockedAt: null,
        version: '1',
        services: [],
        removedAccount: '',
        accountEpoch: 0,
        accountAt: 0,
      },
    }
    await store.run(saveStatement({ node, sealedSecret: '', accountBefore, maxNodes: undefined, now: 1 }))
  }
  const state = (nodeId: string, services: typeof failed, stated: DeviceVitals | null | undefined) =>
    store.transaction(writeNeeds({ nodeId, services, vitals: stated }))
  const filter = { search: '', state: undefined, tag: undefined, service: undefined, version: undefined }
  const selected = async (need: string | undefined) =>
    (await lists.standings('a', { ...filter, need, onlineSince: 0 }, undefined, 10)).map(
      ({ nodeId }) => nodeId,
    )

  beforeAll(async () => {
    store = await openSql(await makeDatabase(), migrations)
    attention = createReadAttention(store)
    history = createDeviceHistory(store, 1000)
    lists = createNodeLists(store, {} as never)
    await save('n1', 'a', 100)
    await save('n2', 'a', 200)
    await save('n3', 'b', 300)
    await save('n4', '', 300)
  })
  afterAll(() => store?.close())

  it('counts what is away, and what devices need', async () => {
    expect(await attention('other', 0)).toEqual({ total: 0, away: 0, lastSeenAt: null, needs: nothing })
    await state('n1', failed, vitals)
    await state('n2', [], vitals)
    await state('n3', failed, vitals)
    await state('n4', failed, vitals)
    expect(await attention('a', 150)).toEqual({
      ...{ total: 2, away: 1, lastSeenAt: 200 },
      needs: { ...nothing, failing: 1, disk: 2, clock: 2 },
    })
  })

  it('selects the devices that it counts, and all without a need', async () => {
    expect(await selected('failing')).toEqual(['n1'])
    expect(await selected('disk')).toEqual(['n1', 'n2'])
    expect(await selected('certificate')).toEqual([])
    expect(await selected(undefined)).toEqual(['n1', 'n2'])
  })

  it('reads devices page by page, in the order in which they were seen', async () => {
    const page = (last: Parameters<NodeLists['standings']>[2]) =>
      lists.standings('a', { ...filter, need: undefined, onlineSince: 150 }, last, 1)
    const [first] = await page(undefined)
    expect(first).toEqual({ nodeId: 'n1', lastSeenAt: 100, isBlocked: false })
    const [second] = await page(first)
    expect(second?.nodeId).toBe('n2')
    expect(await page(second)).toEqual([])
  })

  it('leaves what was stated before where a device states no vitals, and forgets it where it withdraws them', async () => {
    await state('n1', [], undefined)
    expect((await attention('a', 0)).needs).toEqual({ ...nothing, disk: 2, clock: 2 })
    await state('n1', failed, null)
    expect((await attention('a', 0)).needs).toEqual({ ...nothing, failing: 1, disk: 1, clock: 1 })
  })

  const at = (ms: number, version: string) => ({
    node: { services: [], version, lastSeenAt: ms },
    vitals: undefined,
  })

  it('stores what happened to a device of an account, newest first, and only so much', async () => {
    await store.transaction(history.record('n1', at(1, '1'), at(2, '2'), 2))
    await store.transaction(history.record('n1', at(2, '2'), at(2000, '3'), 2000))
    const events = await history.list('a', 'n1')
    expect(events.map(({ kind, after }) => `${kind} ${after}`)).toEqual([
      'version 3',
      'returned ',
      'version 2',
    ])
    expect(await history.list('b', 'n1')).toEqual([])
    await store.transaction(history.record('n4', at(1, '1'), at(2, '2'), 2))
    expect(await history.list('', 'n4')).toEqual([])
  })

  it('limits the events of one device, in number and in time', async () => {
    for (let step = 0; step < 300; step++) {
      const statements = history.record('n2', at(step, String(step)), at(step + 1, String(step + 1)), step)
      if (statements.length > 0) await store.transaction(statements)
    }
    const [{ count } = { count: 0 }] = await store.run<{ count: number }>({
      sql: "SELECT COUNT(*) AS count FROM device_events WHERE node_id = 'n2'",
      values: [],
    })
    expect(Number(count)).toBeGreaterThan(30)
    expect(Number(count)).toBeLessThanOrEqual(maxDeviceEvents)
    expect((await history.list('a', 'n2')).length).toBe(Number(count))
  })

  it('shows another account nothing of a device that changed hands', async () => {
    await save('n1', 'b', 3000, 'a')
    expect((await attention('a', 0)).needs).toEqual({ ...nothing, disk: 1, clock: 1 })
    expect((await attention('b', 0)).needs).toEqual({ ...nothing, failing: 1, disk: 1, clock: 1 })
    expect(await history.list('b', 'n1')).toEqual([])
  })
})
