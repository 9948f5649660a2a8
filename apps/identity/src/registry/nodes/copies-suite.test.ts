/** Copies of devices on every store and with two replicas: noticed once, also across restarts, and with a bounded row. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, type Statement, StoreError, sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { createAudit } from '../../storage/audit/audit.ts'
import { migrations } from '../../storage/schema.ts'
import { createCopies } from './copies.ts'

const nodeId = 'e'.repeat(56)
const node = { nodeId, accountId: 'a', name: 'pump' }
const minutes = 60_000

describeOnStores(
  'copies of a device on %s',
  (makeDatabase) => {
    const clock = createFakeClock()
    let stores: SqlStore[]
    let counts: Map<string, number>
    beforeEach(async () => {
      const url = await makeDatabase()
      stores = [await openSql(url, migrations)]
      if (url.startsWith('postgres')) stores.push(await openSql(url, migrations))
      counts = new Map()
      await stores[0]!.run(
        sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at)
          VALUES (${nodeId}, 'pump', 'a', '', '', '', 0, 0)`,
      )
    })
    afterEach(async () => {
      for (const store of stores) await store.close()
    })

    const audit = () => createAudit(stores[0]!, clock, { keepMs: 1e12, perAccount: 1e6 })
    const noticed = async () => (await audit().list('a', 100, undefined, { action: 'device.copy' })).length
    /** A request of a start of the runtime. Each one arrives at the other replica, which knows nothing but what is stored. */
    const hear = async (id: string, of = node, replica = counts.size) => {
      const count = (counts.get(id) ?? 0) + 1
      counts.set(id, count)
      const copies = createCopies(stores[replica % stores.length]!, clock, audit())
      return copies.follow({ id, count }, of, '192.0.2.1')
    }

    it('are noticed while they take turns, and recorded once', async () => {
      const heard: boolean[] = []
      for (const [at, id] of ['A', 'B', 'A', 'B', 'A', 'B', 'A'].entries()) {
        heard.push(await hear(id, node, at))
        clock.advance(10 * minutes)
      }
      expect(heard).toEqual([false, false, false, false, false, true, true])
      const [entry, ...more] = await audit().list('a', 100, undefined, { action: 'device.copy' })
      expect([entry, more]).toMatchObject([
        { subject: nodeId, address: '192.0.2.1', detail: 'pump', actor: 'the device', outcome: 'ok' },
        [],
      ])
    })

    it('are recorded once with requests at all replicas at the same time', async () => {
      for (const id of ['A', 'B', 'A', 'B', 'A']) {
        await hear(id)
        clock.advance(10 * minutes)
      }
      const results = await Promise.all(Array.from({ length: 10 }, (_, at) => hear('B', node, at)))
      expect(results).toContain(true)
      expect(await noticed()).toBe(1)
    })

    it('are not recorded for a device without an account, and no stranger makes a row', async () => {
      for (const id of ['A', 'B', 'A', 'B', 'A', 'B']) {
        await hear(id, { ...node, accountId: '' })
        await hear(id, { ...node, nodeId: 'f'.repeat(56) })
        clock.advance(10 * minutes)
      }
      expect(await noticed()).toBe(0)
      expect(await audit().list('', 100, undefined, {})).toEqual([])
      expect(await stores[0]!.run(sql`SELECT node_id FROM device_turns`)).toHaveLength(1)
    })

    it('are followed no further with a database that only reads, and every other failure is one', async () => {
      const failing = (cause: Error) => ({
        ...stores[0]!,
        run: (statement: Statement) =>
          /^\s*SELECT/.test(statement.sql) ? stores[0]!.run(statement) : Promise.reject(cause),
      })
      const follow = (cause: Error) =>
        createCopies(failing(cause) as SqlStore, clock, audit()).follow({ id: 'A', count: 1 }, node, '')
      expect(await follow(new StoreError('it only reads', { cause: { code: '25006' } }))).toBe(false)
      const other = new StoreError('gone', { cause: { code: 'CONNECTION_CLOSED' } })
      await expect(follow(other)).rejects.toBe(other)
    })

    it('have one row of bounded size, which ends with the node', async () => {
      for (let start = 0; start < 200; start++) {
        await hear(String(start).padStart(22, '0'))
        clock.advance(10 * minutes)
      }
      const [row] = await stores[0]!.run(sql`SELECT turns FROM device_turns`)
      expect((row!.turns as string).length).toBeLessThan(1500)
      await stores[0]!.run(sql`DELETE FROM nodes`)
      expect(await stores[0]!.run(sql`SELECT turns FROM device_turns`)).toEqual([])
    })
  },
  migrations,
)
