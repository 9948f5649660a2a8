/** `context.storage` of functions: durable, one space a container, in one database that is opened by the first that needs it. */
import { existsSync } from 'node:fs'
import { RpcError } from '@selvedge/protocol'
import { openSqlite, type SqlStore, type StoreError, sql } from '@selvedge/service-kit/store'
import type { StorageChange, StorageSession } from '../engines/engine.ts'
import { sizeOf } from '../engines/function/control.ts'

export interface ContainerStorage {
  /**
   * @param quota most bytes of keys and values
   * @param onChange told of what other sessions of the same container change
   */
  open(id: string, quota: number, onChange: (change: StorageChange) => void): Promise<StorageSession>
  /** Removes all that a container stored. */
  remove(id: string): Promise<void>
  close(): Promise<void>
}

const schema = [
  'CREATE TABLE items (container TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (container, key)) WITHOUT ROWID',
]

interface Space {
  readonly items: Map<string, string>
  readonly sessions: Set<(change: StorageChange) => void>
  size: number
}

export function createContainerStorage(path: string): ContainerStorage {
  let database: Promise<SqlStore> | undefined
  const spaces = new Map<string, Promise<Space>>()
  const open = (): Promise<SqlStore> => {
    database ??= openSqlite(path, schema)
    return database
  }

  async function load(id: string): Promise<Space> {
    const store = await open()
    const rows = await store.run<{ key: string; value: string }>(
      sql`SELECT key, value FROM items WHERE container = ${id} ORDER BY key`,
    )
    const items = new Map(rows.map(({ key, value }) => [key, value]))
    let size = 0
    for (const [key, value] of items) size += sizeOf(key, value)
    return { items, sessions: new Set(), size }
  }

  return {
    async open(id, quota, onChange) {
      let loading = spaces.get(id)
      if (!loading) {
        loading = load(id)
        spaces.set(id, loading)
        loading.catch(() => spaces.delete(id))
      }
      const space = await loading
      space.sessions.add(onChange)
      return {
        items: Object.fromEntries(space.items),
        async write({ set = {}, remove = [] }) {
          const sizeBefore = (key: string) => {
            const value = space.items.get(key)
            return value === undefined ? 0 : sizeOf(key, value)
          }
          const added = Object.entries(set).reduce(
            (sum, [key, value]) => sum + sizeOf(key, value) - sizeBefore(key),
            0,
          )
          const gone = remove.reduce((sum, key) => sum + sizeBefore(key), 0)
          if (space.size + added - gone > quota)
            throw new RpcError(
              'storage_full',
              `the storage of ${id} is full: ${quota} bytes (MCM.STORAGE_MB)`,
            )
          const store = await open()
          await store
            .transaction([
              ...remove.map((key) => sql`DELETE FROM items WHERE container = ${id} AND key = ${key}`),
              ...Object.entries(set).map(
                ([key, value]) =>
                  sql`INSERT INTO items (container, key, value) VALUES (${id}, ${key}, ${value}) ON CONFLICT (container, key) DO UPDATE SET value = excluded.value`,
              ),
            ])
            .catch((cause: StoreError) => {
              throw cause.full
                ? new RpcError('storage_full', 'the disk of the device is full', { cause })
                : cause
            })
          space.size += added - gone
          for (const key of remove) space.items.delete(key)
          for (const [key, value] of Object.entries(set)) space.items.set(key, value)
          for (const session of space.sessions) if (session !== onChange) session({ set, remove })
        },
        close() {
          space.sessions.delete(onChange)
          if (space.sessions.size === 0) spaces.delete(id)
        },
      }
    },
    async remove(id) {
      spaces.delete(id)
      if (!existsSync(path)) return
      const store = await open()
      await store.run(sql`DELETE FROM items WHERE container = ${id}`)
    },
    async close() {
      const store = await database?.catch(() => undefined)
      await store?.close()
    },
  }
}
