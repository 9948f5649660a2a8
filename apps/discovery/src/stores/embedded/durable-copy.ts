/**
 * The durable copy of the live index: a table in SQLite, written behind by the database's worker. A power cut loses the locations
 * of the last moment; nodes send it again with their next report.
 */
import type { Log } from '@selvedge/service-kit/log'
import { safely } from '@selvedge/service-kit/safely'
import { type Row, type SqlStore, sql } from '@selvedge/service-kit/store'
import type { KnownLocation } from '../location-store.ts'

/** Milliseconds between a change and the write; nodes of one write, few enough that no request waits while they are serialized. */
const pauseMs = 250
const most = 500

export interface DurableCopy {
  load(): Promise<KnownLocation[]>
  /** Numbers of the present ownership of all nodes. */
  loadTerms(): Promise<{ readonly nodeId: string; readonly term: number }[]>
  /** Notes that a node has changed. */
  changed(slot: number): void
  /** Deletes what is written of a node and this account. May be repeated. */
  remove(nodeId: string, accountId: string): Promise<void>
  /** Nodes that have changed since they were written. */
  waiting(): number
  close(): Promise<void>
}

export function createDurableCopy(
  database: SqlStore,
  read: (slot: number) => KnownLocation,
  log: Log,
): DurableCopy {
  let dirty = new Set<number>()
  let writing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isFailing = false

  async function write(): Promise<void> {
    while (dirty.size > 0) {
      const slots: number[] = []
      for (const slot of dirty) if (slots.push(slot) === most) break
      for (const slot of slots) dirty.delete(slot)
      try {
        // A node that was forgotten meanwhile has no account, and stays off the disk.
        const held = slots.map(read).filter(({ accountId }) => accountId !== '')
        if (held.length > 0) await database.run(upsert(held))
        isFailing = false
      } catch (cause) {
        dirty = new Set([...slots, ...dirty])
        // Once, and not every second of a full disk.
        if (!isFailing) log.error('locations cannot be written; they stay in memory', { cause })
        isFailing = true
        return
      }
    }
  }

  function schedule(): void {
    if (timer || writing) return
    timer = setTimeout(
      safely('durableCopy.write', () => {
        timer = undefined
        writing = write().finally(() => {
          writing = undefined
          if (dirty.size > 0) schedule()
        })
        return writing
      }),
      pauseMs,
    )
  }

  return {
    async load() {
      return (await database.run(sql`SELECT * FROM last_locations WHERE account_id <> ''`)).map(toLocation)
    },
    async loadTerms() {
      const rows = await database.run(sql`SELECT node_id, term FROM nodes`)
      return rows.map(({ node_id, term }) => ({ nodeId: node_id as string, term: term as number }))
    },
    changed(slot) {
      dirty.add(slot)
      schedule()
    },
    async remove(nodeId, accountId) {
      await writing
      await database.run(
        sql`DELETE FROM last_locations WHERE node_id = ${nodeId} AND account_id = ${accountId}`,
      )
    },
    waiting: () => dirty.size,
    async close() {
      clearTimeout(timer)
      await writing
      await write()
    },
  }
}

/** All of them in one statement: a list as JSON costs less to hand to the worker than a statement each. */
function upsert(locations: readonly KnownLocation[]) {
  const rows = JSON.stringify(
    locations.map((each) => [
      each.nodeId,
      each.nodeName,
      each.accountId,
      each.longitude,
      each.latitude,
      each.speed,
      each.bearing,
      each.accuracy ?? null,
      each.source,
      each.fixedAt,
      each.receivedAt,
      each.heardAt,
      each.suspect ? 1 : 0,
      each.sharing.account,
      each.sharing.others,
    ]),
  )
  return sql`INSERT OR REPLACE INTO last_locations SELECT
    value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9, value->>10,
    value->>11, value->>12, value->>13, value->>14 FROM json_each(${rows})`
}

const toLocation = (row: Row): KnownLocation => ({
  nodeId: row.node_id as string,
  nodeName: row.node_name as string,
  accountId: row.account_id as string,
  longitude: row.longitude as number,
  latitude: row.latitude as number,
  speed: row.speed as number,
  bearing: row.bearing as number,
  ...(row.accuracy !== null && { accuracy: row.accuracy as number }),
  source: row.source as KnownLocation['source'],
  fixedAt: row.fixed_at as number,
  receivedAt: row.received_at as number,
  heardAt: row.heard_at as number,
  suspect: row.suspect === 1,
  sharing: {
    account: row.for_account as KnownLocation['sharing']['account'],
    others: row.for_others as KnownLocation['sharing']['others'],
  },
})
