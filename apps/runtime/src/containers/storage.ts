/** `context.storage` of functions: durable, one space a container, in one database that is opened when it is first needed. */

import { existsSync } from 'node:fs'
import { RpcError } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import { shareResult } from '@selvedge/service-kit/share'
import { openSqlite, type SqlStore, type Statement, StoreError, sql } from '@selvedge/service-kit/store'
import type { StorageChange, StorageSession } from '../engines/engine.ts'
import { chunkBytes, maxItems } from '../engines/function/storage-change.ts'

export interface ContainerStorage {
  /**
   * @param quota bytes that keys and values may take, with 64 bytes an item
   * @param onChange gets the changes that other sessions of the same container make
   */
  open(id: string, quota: number, onChange: OnChange): Promise<StorageSession>
  /** Removes all that a container stored. */
  remove(id: string): Promise<void>
  close(): Promise<void>
}

/** Called for every change of another session, in the order in which they were stored. */
type OnChange = (change: StorageChange) => void | Promise<void>

/** Bytes of an item, as `sizeOf` of the host program counts them. */
const size = (row: string) => `64 + octet_length(${row}.key) + octet_length(${row}.value)`
const grow = (event: string, row: string, by: string) =>
  `CREATE TRIGGER item_${event.toLowerCase()} AFTER ${event} ON items BEGIN
    UPDATE spaces SET size = size + ${by} WHERE container = ${row}.container;
  END`

const overQuota = 'over quota'

/**
 * The size of a space follows from its items in the very statement that changes them, so that no order of events makes it wrong.
 * A space that is over its quota, since that became smaller, may still shrink.
 */
const schema = [
  'CREATE TABLE items (container TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (container, key)) WITHOUT ROWID',
  [
    'ALTER TABLE items RENAME TO old_items',
    'CREATE TABLE spaces (container TEXT PRIMARY KEY, size INTEGER NOT NULL DEFAULT 0 CHECK (size >= 0), quota INTEGER NOT NULL) WITHOUT ROWID',
    `INSERT INTO spaces SELECT container, sum(${size('old_items')}), 0 FROM old_items GROUP BY container`,
    'CREATE TABLE items (container TEXT NOT NULL REFERENCES spaces ON DELETE CASCADE, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (container, key)) WITHOUT ROWID',
    'INSERT INTO items SELECT container, key, value FROM old_items',
    'DROP TABLE old_items',
    grow('INSERT', 'NEW', size('NEW')),
    grow('UPDATE', 'NEW', `octet_length(NEW.value) - octet_length(OLD.value)`),
    grow('DELETE', 'OLD', `-(${size('OLD')})`),
    `CREATE TRIGGER quota BEFORE UPDATE OF size ON spaces WHEN NEW.size > NEW.quota AND NEW.size > OLD.size BEGIN
      SELECT RAISE(ABORT, '${overQuota}');
    END`,
  ].join(';\n'),
]

export function createContainerStorage(path: string): ContainerStorage {
  const open = shareResult(() => openSqlite(path, schema))
  const sessions = new Map<string, Set<OnChange>>()

  function tellOthers(id: string, own: OnChange, change: StorageChange): void {
    for (const onChange of sessions.get(id) ?? []) {
      if (onChange !== own) inBackground('storage.change', Promise.resolve(onChange(change)))
    }
  }

  return {
    async open(id, quota, onChange) {
      const store = await open()
      await store.run(
        sql`INSERT INTO spaces (container, quota) VALUES (${id}, ${quota}) ON CONFLICT (container) DO UPDATE SET quota = excluded.quota`,
      )
      // Known from here on: what is read after this is as new as the changes that follow.
      const own: OnChange = (change) => onChange(change)
      const all = sessions.get(id) ?? new Set()
      sessions.set(id, all.add(own))
      return {
        load: () => readItems(store, id),
        async write(change) {
          await store.run(statementOf(id, change)).catch((cause) => {
            throw refusalOf(id, quota, cause)
          })
          tellOthers(id, own, change)
        },
        close() {
          all.delete(own)
          if (all.size === 0 && sessions.get(id) === all) sessions.delete(id)
        },
      }
    },
    async remove(id) {
      if (!existsSync(path)) return
      const store = await open()
      await store.run(sql`DELETE FROM spaces WHERE container = ${id}`)
    },
    async close() {
      const store = await open.present()?.catch(() => undefined)
      await store?.close()
    },
  }
}

/** One statement a change, whatever it holds: the worker does the rest. */
function statementOf(id: string, change: StorageChange): Statement {
  if ('remove' in change) {
    const keys = JSON.stringify(change.remove)
    return sql`DELETE FROM items WHERE container = ${id} AND key IN (SELECT value FROM json_each(${keys}))`
  }
  if ('setLong' in change)
    return sql`INSERT INTO items (container, key, value) VALUES (${id}, ${change.setLong}, CAST(${change.value} AS TEXT)) ON CONFLICT (container, key) DO UPDATE SET value = excluded.value`
  const items = JSON.stringify(change.set)
  return sql`INSERT INTO items (container, key, value) SELECT ${id}, value ->> 0, value ->> 1 FROM json_each(${items}) WHERE true ON CONFLICT (container, key) DO UPDATE SET value = excluded.value`
}

function refusalOf(id: string, quota: number, cause: unknown): unknown {
  if (!(cause instanceof StoreError)) return cause
  if (cause.full) return new RpcError('storage_full', 'the disk of the device is full', { cause })
  if (!cause.message.includes(overQuota)) return cause
  return new RpcError('storage_full', `the storage of ${id} is full: ${quota} bytes (MCM.STORAGE_MB)`, {
    cause,
  })
}

type Listed = { key: string; bytes: number }
type Item = { key: string; value: string }

/** All items in parts: as many as fit into a frame, or one long value. */
async function* readItems(store: SqlStore, id: string): AsyncGenerator<StorageChange> {
  let after: string | null = null
  for (;;) {
    const page: Listed[] = await store.run<Listed>(
      sql`SELECT key, octet_length(key) + octet_length(value) AS bytes FROM items WHERE container = ${id} AND (${after} IS NULL OR key > ${after}) ORDER BY key LIMIT ${maxItems}`,
    )
    for (const { first, last, bytes } of partsOf(page)) {
      if (bytes > chunkBytes) {
        const [long] = await store.run<{ value: Uint8Array }>(
          sql`SELECT CAST(value AS BLOB) AS value FROM items WHERE container = ${id} AND key = ${first}`,
        )
        if (long) yield { setLong: first, value: long.value }
      } else {
        const items = await store.run<Item>(
          sql`SELECT key, value FROM items WHERE container = ${id} AND key BETWEEN ${first} AND ${last} ORDER BY key`,
        )
        yield { set: items.map(({ key, value }) => [key, value] as const) }
      }
    }
    if (page.length < maxItems) return
    after = page.at(-1)!.key
  }
}

interface Part {
  readonly first: string
  last: string
  bytes: number
}

/** Neighbouring keys whose items take no more than a chunk together; a longer item alone. */
function partsOf(page: readonly Listed[]): Part[] {
  const parts: Part[] = []
  for (const { key, bytes } of page) {
    const part = parts.at(-1)
    if (part && part.bytes + bytes <= chunkBytes) {
      part.last = key
      part.bytes += bytes
    } else parts.push({ first: key, last: key, bytes })
  }
  return parts
}
