/** The items of functions as they are stored: one database, with the size of each space. */
import { RpcError } from '@selvedge/protocol'
import { type SqlStore, type Statement, StoreError, sql } from '@selvedge/service-kit/store'
import type { StorageChange, StorageItem } from '../engines/engine.ts'
import { chunkBytes, maxItems } from '../engines/function/storage-change.ts'

/** Bytes of an item, as `sizeOf` of the host program counts them. */
const size = (row: string) => `64 + octet_length(${row}.key) + octet_length(${row}.value)`
const grow = (event: string, row: string, by: string) =>
  `CREATE TRIGGER item_${event.toLowerCase()} AFTER ${event} ON items BEGIN
    UPDATE spaces SET size = size + ${by} WHERE container = ${row}.container;
  END`

const overQuota = 'over quota'

/**
 * The statement that changes items also updates the size of their space, so that no order of events makes it wrong.
 * A space that is over its quota, since that became smaller, may still shrink.
 */
export const schema = [
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

const taggedSize = (row: string) => `${size(row)} + octet_length(${row}.tag)`

/**
 * Tags of items. No step of the schema, as that would lock out the release before this one, which reads and writes items in the same
 * table: there an item has the tag "", or the one that it had.
 */
export async function addTags(store: SqlStore): Promise<void> {
  const [found] = await store.run(sql`SELECT 1 AS found FROM pragma_table_info('items') WHERE name = 'tag'`)
  if (found) return
  const events = ['insert', 'update', 'delete']
  await store.transaction(
    [
      `ALTER TABLE items ADD COLUMN tag TEXT NOT NULL DEFAULT ''`,
      ...events.map((event) => `DROP TRIGGER item_${event}`),
      grow('INSERT', 'NEW', taggedSize('NEW')),
      grow(
        'UPDATE',
        'NEW',
        'octet_length(NEW.value) + octet_length(NEW.tag) - octet_length(OLD.value) - octet_length(OLD.tag)',
      ),
      grow('DELETE', 'OLD', `-(${taggedSize('OLD')})`),
    ].map((text) => ({ sql: text, values: [] })),
  )
}

/** @param quota bytes that keys and values may take, with 64 bytes an item */
export const setQuota = (dataKey: string, quota: number): Statement =>
  sql`INSERT INTO spaces (container, quota) VALUES (${dataKey}, ${quota}) ON CONFLICT (container) DO UPDATE SET quota = excluded.quota`

export const removeSpace = (dataKey: string): Statement =>
  sql`DELETE FROM spaces WHERE container = ${dataKey}`

/** One statement a change, whatever it holds. */
export function writeChange(dataKey: string, change: StorageChange): Statement {
  if ('remove' in change) {
    const keys = JSON.stringify(change.remove)
    return sql`DELETE FROM items WHERE container = ${dataKey} AND key IN (SELECT value FROM json_each(${keys}))`
  }
  if ('setLong' in change)
    return sql`INSERT INTO items (container, key, value, tag) VALUES (${dataKey}, ${change.setLong}, CAST(${change.value} AS TEXT), ${change.tag ?? ''}) ON CONFLICT (container, key) DO UPDATE SET value = excluded.value, tag = excluded.tag`
  const items = JSON.stringify(change.set)
  return sql`INSERT INTO items (container, key, value, tag) SELECT ${dataKey}, value ->> 0, value ->> 1, ifnull(value ->> 2, '') FROM json_each(${items}) WHERE true ON CONFLICT (container, key) DO UPDATE SET value = excluded.value, tag = excluded.tag`
}

/** Why a change was not stored, in words for the caller. */
export function refusalOf(quota: number, cause: unknown): unknown {
  if (!(cause instanceof StoreError)) return cause
  if (cause.full) return new RpcError('storage_full', 'the disk of the device is full', { cause })
  if (!cause.message.includes(overQuota)) return cause
  return new RpcError(
    'storage_full',
    `the storage of the container is full: ${quota} bytes (MCM.STORAGE_MB)`,
    {
      cause,
    },
  )
}

type Listed = { key: string; bytes: number }
type Item = { key: string; value: string; tag: string }

/**
 * The next items in the order of their keys: as many as fit into a frame, or one long value. Undefined after the last.
 *
 * @param after the last key that was read, or null
 */
export async function readPart(
  store: SqlStore,
  dataKey: string,
  after: string | null,
): Promise<{ readonly change: StorageChange; readonly last: string } | undefined> {
  const listed = await store.run<Listed>(
    sql`SELECT key, octet_length(key) + octet_length(value) + octet_length(tag) AS bytes FROM items WHERE container = ${dataKey} AND (${after} IS NULL OR key > ${after}) ORDER BY key LIMIT ${maxItems}`,
  )
  const [first] = listed
  if (!first) return undefined
  if (first.bytes > chunkBytes) {
    const [long] = await store.run<{ value: Uint8Array; tag: string }>(
      sql`SELECT CAST(value AS BLOB) AS value, tag FROM items WHERE container = ${dataKey} AND key = ${first.key}`,
    )
    const { value, tag } = long!
    return { change: { setLong: first.key, ...(tag !== '' && { tag }), value }, last: first.key }
  }
  let bytes = 0
  const fitting = listed.findIndex((item) => {
    bytes += item.bytes
    return bytes > chunkBytes
  })
  const last = listed.at(fitting < 0 ? -1 : fitting - 1)!.key
  const items = await store.run<Item>(
    sql`SELECT key, value, tag FROM items WHERE container = ${dataKey} AND key BETWEEN ${first.key} AND ${last} ORDER BY key`,
  )
  return { change: { set: items.map(wireItem) }, last }
}

const wireItem = ({ key, value, tag }: Item): StorageItem => (tag === '' ? [key, value] : [key, value, tag])
