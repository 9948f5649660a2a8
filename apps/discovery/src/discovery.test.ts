/** The running service forgets silent nodes by itself. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createNetwork } from '@selvedge/client/node'
import { loadConfig } from '@selvedge/service-kit/config'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { discoveryOptions } from './config.ts'
import { startDiscovery } from './discovery.ts'
import { migrations } from './schema.ts'

const hour = 3_600_000
const clock = createFakeClock()
let folder: string
let store: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'discovery-'))
  store = `sqlite:${join(folder, 'nodes.db')}`
  // Other timers are real: the service answers, and its database too.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

async function withDatabase<T>(use: (database: SqlStore) => Promise<T>): Promise<T> {
  const database = await openSql(store, migrations)
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}
const nodes = () =>
  withDatabase(async (database) => {
    const rows = await database.run(sql`SELECT node_id FROM nodes ORDER BY node_id`)
    const points = await database.run(sql`SELECT DISTINCT node_id FROM tracks ORDER BY node_id`)
    return { stated: rows.map((row) => row.node_id), tracks: points.map((row) => row.node_id) }
  })

/** Runs the service for some hours by its timers. */
async function runFor(hours: number): Promise<void> {
  const argv = [
    `--state=${folder}`,
    `--store=${store}`,
    '--listen.port=0',
    '--identity.url=http://127.0.0.1:9',
  ]
  const config = loadConfig(discoveryOptions, { argv, env: {}, file: {} })
  const service = await startDiscovery(config, {
    clock,
    log: createMemoryLog(),
    network: createNetwork({ env: {} }),
  })
  vi.advanceTimersByTime(hours * hour)
  // It ends when what its timers began has stopped.
  await service.stop()
}

it('removes nodes that were silent for 30 days, with their tracks, once an hour and not before', async () => {
  const day = 24 * hour
  await withDatabase(async (database) => {
    for (const [id, days] of [
      ['heard', 29],
      ['silent', 31],
    ] as const) {
      const at = clock.now() - days * day
      await database.run(sql`INSERT INTO nodes (node_id, node_name, account_id, addresses, services, heard_at, track_until)
        VALUES (${id}, ${id}, 'a', '[]', '[]', ${at}, ${clock.now() + 99 * day})`)
      await database.run(sql`INSERT INTO tracks VALUES (${id}, ${at}, 1, 2)`)
    }
  })
  await runFor(0.9)
  expect(await nodes()).toEqual({ stated: ['heard', 'silent'], tracks: ['heard', 'silent'] })
  await runFor(1)
  expect(await nodes()).toEqual({ stated: ['heard'], tracks: ['heard'] })
})
