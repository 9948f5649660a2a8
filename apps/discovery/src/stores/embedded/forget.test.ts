/** A former owner never gets back what was to be forgotten, also if the disk failed meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite, type SqlStore } from '@selvedge/service-kit/store'
import { createMemoryLog } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { migrations } from '../../schema.ts'
import type { ReportedLocation } from '../location-store.ts'
import { openEmbeddedStore } from './embedded-store.ts'

const nodeId = 'a'.repeat(56)
const location: ReportedLocation = {
  nodeId,
  nodeName: 'n',
  accountId: 'a',
  longitude: 1,
  latitude: 2,
  speed: 0,
  bearing: 0,
  source: 'api',
  fixedAt: 1,
  receivedAt: 1,
  heardAt: 1,
  term: 1,
  sharing: { account: 'exact', others: 'none' },
}

async function run(work: (database: SqlStore, fail: (what: RegExp | undefined) => void) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), 'forget-'))
  const database = await openSqlite(join(folder, 'locations.db'), migrations)
  let failing: RegExp | undefined
  const own: SqlStore = {
    ...database,
    run: (statement) =>
      failing?.test(statement.sql) ? Promise.reject(new Error('disk full')) : database.run(statement),
  }
  try {
    await work(own, (what) => {
      failing = what
    })
  } finally {
    await database.close()
    rmSync(folder, { recursive: true })
  }
}
const reopened = async (database: SqlStore) => {
  const store = await openEmbeddedStore(database, createMemoryLog())
  const found = await store.ofAccount('a')
  await store.close()
  return found
}

it('a removal from the disk that failed is done by the next try', () =>
  run(async (database, fail) => {
    const store = await openEmbeddedStore(database, createMemoryLog())
    await store.put([location])
    await store.close()
    const again = await openEmbeddedStore(database, createMemoryLog())
    fail(/^DELETE/)
    await expect(again.forget('a', nodeId, 2)).rejects.toThrow('disk full')
    fail(undefined)
    await again.forget('a', nodeId, 2)
    await again.close()
    expect(await reopened(database)).toEqual([])
  }))

it('what was about to be written is not written after it was forgotten', () =>
  run(async (database) => {
    const store = await openEmbeddedStore(database, createMemoryLog())
    await store.put([location])
    await store.forget('a', nodeId, 2)
    await store.close()
    const rows = await database.run({ sql: 'SELECT * FROM last_locations', values: [] })
    expect(rows).toEqual([])
  }))
