/** What devices state, on every store: only the account that has the device sees it. */
import type { DeviceVitals } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import type { SqlStore } from '@selvedge/service-kit/store'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { migrations } from '../../storage/schema.ts'
import { createDeviceVitals, type DeviceVitalsStore, writeVitals } from './device-vitals.ts'
import { saveStatement } from './node-rows.ts'

const vitals: DeviceVitals = {
  arch: 'arm64',
  addresses: [],
  uptimeSeconds: 1,
  cores: 1,
  load: 0,
  memory: { usedBytes: 1, totalBytes: 2 },
  disk: null,
  clock: 'held',
  revocationsAgeSeconds: null,
  notices: [],
  services: [],
}

describeOnStores(
  '%s',
  (makeDatabase) => {
    let store: SqlStore
    let all: DeviceVitalsStore
    const save = async (nodeId: string, accountId: string, accountBefore = '') => {
      const hmac = { nodeKey: '', cloudKey: '', secret: '' }
      const node = {
        ...{ nodeId, name: nodeId, accountId, hmac, enrolledAt: 1, lastSeenAt: 1, blockedAt: null },
        ...{ version: '1', services: [], removedAccount: '', accountEpoch: 0, accountAt: 0 },
      }
      await store.run(saveStatement({ node, sealedSecret: '', accountBefore, maxNodes: undefined, now: 1 }))
    }
    const state = (nodeId: string, stated: DeviceVitals | null, now: number) =>
      store.run(writeVitals(nodeId, stated, now))
    beforeAll(async () => {
      store = await openSql(await makeDatabase(), migrations)
      all = createDeviceVitals(store)
    })
    afterAll(() => store?.close())

    it('stores the last ones', async () => {
      await save('n1', 'a')
      expect(await all.find('a', 'n1')).toBeUndefined()
      await state('n1', vitals, 5)
      await state('n1', { ...vitals, cores: 8 }, 6)
      expect(await all.find('a', 'n1')).toEqual({ vitals: { ...vitals, cores: 8 }, statedAt: 6 })
    })

    it('forgets them when the device withdraws them', async () => {
      await state('n1', null, 7)
      expect(await all.find('a', 'n1')).toBeUndefined()
      expect(await store.run({ sql: 'SELECT * FROM device_vitals', values: [] })).toEqual([])
    })

    it('shows them to no other account, also when the device changes hands', async () => {
      await state('n1', vitals, 8)
      expect(await all.find('b', 'n1')).toBeUndefined()
      await save('n1', 'b', 'a')
      expect([await all.find('a', 'n1'), await all.find('b', 'n1')]).toEqual([undefined, undefined])
      await state('n1', vitals, 9)
      expect([await all.find('a', 'n1'), (await all.find('b', 'n1'))?.statedAt]).toEqual([undefined, 9])
    })

    it('stores nothing of a device without an account, and nothing of an unknown one', async () => {
      await save('n2', '')
      await state('n2', vitals, 10)
      await state('n3', vitals, 10)
      expect(
        await store.run({ sql: "SELECT vitals FROM device_vitals WHERE node_id <> 'n1'", values: [] }),
      ).toEqual([{ vitals: '' }])
      expect(await all.find('', 'n2')).toBeUndefined()
    })

    it('survives what a newer replica wrote', async () => {
      await store.run({
        sql: `UPDATE device_vitals SET vitals = '{"shape":"new"}' WHERE node_id = 'n1'`,
        values: [],
      })
      expect(await all.find('b', 'n1')).toBeUndefined()
    })

    it('are removed with their device', async () => {
      await store.run({ sql: "DELETE FROM nodes WHERE node_id = 'n1'", values: [] })
      expect(
        await store.run({ sql: "SELECT 1 FROM device_vitals WHERE node_id = 'n1'", values: [] }),
      ).toEqual([])
    })
  },
  migrations,
)
