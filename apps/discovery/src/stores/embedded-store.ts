import { type Migrations, openSqlite, type Row, type Statement, sql } from '@selvedge/service-kit/store'
import type { Location, LocationStore } from './location-store.ts'

/** Degrees are kept as integers of 1e-7 (1 cm), so that cells have exact borders; a cell is 0.01 degrees wide and high. */
const scale = 1e7
const cellSize = 100_000
const cellsInRow = 36_000

const migrations: Migrations = [
  `
  CREATE TABLE locations (
    node_id TEXT PRIMARY KEY, node_name TEXT NOT NULL, account_id TEXT NOT NULL,
    longitude INTEGER NOT NULL, latitude INTEGER NOT NULL, cell INTEGER NOT NULL,
    speed REAL NOT NULL, bearing REAL NOT NULL, fixed_at INTEGER NOT NULL, received_at INTEGER NOT NULL
  );
  CREATE INDEX locations_cell ON locations (cell);
  CREATE INDEX locations_account ON locations (account_id);
  `,
]

/** One machine: everything in memory for reading, and a table of cells in SQLite, written by a worker, as the durable copy. */
export async function openEmbeddedStore(path: string): Promise<LocationStore> {
  const database = await openSqlite(path, migrations)
  const live = new Map<string, Location>()
  const byAccount = new Map<string, Set<string>>()
  const listeners: ((location: Location) => void)[] = []

  function take(location: Location): void {
    const before = live.get(location.nodeId)
    if (before?.accountId !== location.accountId) {
      byAccount.get(before?.accountId ?? '')?.delete(location.nodeId)
      const nodes = byAccount.get(location.accountId) ?? new Set()
      byAccount.set(location.accountId, nodes.add(location.nodeId))
    }
    live.set(location.nodeId, location)
  }

  for (const row of await database.run(sql`SELECT * FROM locations`)) take(toLocation(row))
  return {
    async put(locations) {
      const newest = new Map<string, Location>()
      for (const each of locations) {
        const before = newest.get(each.nodeId) ?? live.get(each.nodeId)
        if (!before || each.fixedAt > before.fixedAt) newest.set(each.nodeId, each)
      }
      if (newest.size === 0) return
      await database.transaction([...newest.values()].map(upsert))
      for (const each of newest.values()) {
        if (each.fixedAt <= (live.get(each.nodeId)?.fixedAt ?? -1)) continue
        take(each)
        for (const tell of listeners) tell(each)
      }
    },
    last: (nodeId) => live.get(nodeId),
    ofAccount: (accountId) => [...(byAccount.get(accountId) ?? [])].map((nodeId) => live.get(nodeId)!),
    onNews: (listener) => void listeners.push(listener),
    close: () => database.close(),
  }
}

function upsert({
  nodeId,
  nodeName,
  accountId,
  speed,
  bearing,
  fixedAt,
  receivedAt,
  ...at
}: Location): Statement {
  const longitude = Math.round(at.longitude * scale)
  const latitude = Math.round(at.latitude * scale)
  return sql`INSERT INTO locations VALUES (${nodeId}, ${nodeName}, ${accountId}, ${longitude}, ${latitude},
      ${cellOf(longitude, latitude)}, ${speed}, ${bearing}, ${fixedAt}, ${receivedAt})
    ON CONFLICT (node_id) DO UPDATE SET node_name = excluded.node_name, account_id = excluded.account_id,
      longitude = excluded.longitude, latitude = excluded.latitude, cell = excluded.cell, speed = excluded.speed,
      bearing = excluded.bearing, fixed_at = excluded.fixed_at, received_at = excluded.received_at
    WHERE excluded.fixed_at > locations.fixed_at`
}

/** Rows from the south, cells from the west; the antimeridian is both ends of a row. */
export function cellOf(longitude: number, latitude: number): number {
  const row = Math.floor((latitude + 90 * scale) / cellSize)
  const column = Math.floor((longitude + 180 * scale) / cellSize) % cellsInRow
  return row * cellsInRow + column
}

const toLocation = (row: Row): Location => ({
  nodeId: row.node_id as string,
  nodeName: row.node_name as string,
  accountId: row.account_id as string,
  longitude: (row.longitude as number) / scale,
  latitude: (row.latitude as number) / scale,
  speed: row.speed as number,
  bearing: row.bearing as number,
  fixedAt: row.fixed_at as number,
  receivedAt: row.received_at as number,
})
