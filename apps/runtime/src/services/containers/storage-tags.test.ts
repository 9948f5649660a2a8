import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqlite } from '@selvedge/service-kit/store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import type { StorageChange, StorageItem, StorageReader } from '../engines/engine.ts'
import { sizeOf } from '../engines/function/storage-change.ts'
import { type ContainerStorage, createContainerStorage } from './storage.ts'
import { schema } from './storage-items.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let storage: ContainerStorage
const path = () => join(folder.path, 'storage.db')
beforeEach(async () => {
  folder = await temporaryFolder()
  storage = createContainerStorage(path())
})
afterEach(async () => {
  await storage.close()
  await folder.remove()
})

/** All items, as a new session gets them: `key: [value, tag]`. */
async function stored(): Promise<Record<string, [string, string]>> {
  const items: Record<string, [string, string]> = {}
  const reader: StorageReader = {
    async receive(change) {
      if ('set' in change) for (const [key, value, tag = ''] of change.set) items[key] = [value, tag]
      else if ('setLong' in change)
        items[change.setLong] = [Buffer.from(change.value).toString(), change.tag ?? '']
    },
    mayWrite: async () => undefined,
  }
  const session = await storage.open('a', 1e6, reader)
  await session.follow()
  session.close()
  return items
}

async function write(quota: number, ...changes: StorageChange[]): Promise<void> {
  const reader = { receive: async () => undefined, mayWrite: async () => undefined }
  const session = await storage.open('a', quota, reader)
  await session.takeOver()
  try {
    for (const change of changes) await session.write(change)
  } finally {
    session.close()
  }
}
const set = (...items: StorageItem[]): StorageChange => ({ set: items })

/** The statement with which the release before tags stores an item. */
const formerInsert = `INSERT INTO items (container, key, value) VALUES ('a', ?, ?)
  ON CONFLICT (container, key) DO UPDATE SET value = excluded.value`

describe('tags of stored items', () => {
  it('last like the items, short and long, and change with them', async () => {
    const long = 'x'.repeat(300_000)
    await write(1e6, set(['short', '1', 'red'], ['plain', '2']), {
      setLong: 'long',
      tag: 'blue',
      value: Buffer.from(long),
    })
    await storage.close()
    storage = createContainerStorage(path())
    expect(await stored()).toEqual({ short: ['1', 'red'], plain: ['2', ''], long: [long, 'blue'] })
    await write(1e6, set(['short', '1', 'green'], ['plain', '2', 'red']), {
      setLong: 'long',
      value: Buffer.from(long),
    })
    expect(await stored()).toEqual({ short: ['1', 'green'], plain: ['2', 'red'], long: [long, ''] })
  })

  it('count for the quota, whatever the program inside the sandbox claims', async () => {
    const full = { reason: 'storage_full' }
    const tag = 't'.repeat(200)
    const quota = sizeOf('key', 'value', tag)
    await write(quota, set(['key', 'value', tag]))
    await expect(write(quota, set(['key', 'value', `${tag}t`]))).rejects.toMatchObject(full)
    await expect(write(quota, set(['key', 'value!', tag]))).rejects.toMatchObject(full)
    await write(quota, set(['key', 'value!']))
    await write(quota, { remove: ['key'] }, set(['other', 'val', tag]))
    expect(Object.keys(await stored())).toEqual(['other'])
  })

  it('are added to what an earlier release stored', async () => {
    const former = await openSqlite(path(), schema)
    await former.run({ sql: "INSERT INTO spaces (container, quota) VALUES ('a', 1000)", values: [] })
    await former.run({ sql: formerInsert, values: ['key', 'value'] })
    await former.close()
    expect(await stored()).toEqual({ key: ['value', ''] })
    await write(1000, set(['key', 'value', 'red']))
    expect(await stored()).toEqual({ key: ['value', 'red'] })
  })

  it('leave a database that the release before reads and writes, and stay through it', async () => {
    await write(1000, set(['tagged', '1', 'red'], ['gone', '2', 'red']))
    await storage.close()
    // It refuses a database with more steps than it knows.
    const former = await openSqlite(path(), schema)
    expect(await former.run({ sql: 'SELECT key, value FROM items ORDER BY key', values: [] })).toEqual([
      { key: 'gone', value: '2' },
      { key: 'tagged', value: '1' },
    ])
    await former.run({ sql: formerInsert, values: ['tagged', 'changed'] })
    await former.run({ sql: formerInsert, values: ['new', '3'] })
    await former.run({ sql: "DELETE FROM items WHERE key = 'gone'", values: [] })
    await former.close()
    storage = createContainerStorage(path())
    expect(await stored()).toEqual({ tagged: ['changed', 'red'], new: ['3', ''] })
    const database = new DatabaseSync(path(), { readOnly: true })
    const size = sizeOf('tagged', 'changed', 'red') + sizeOf('new', '3')
    expect(database.prepare('SELECT size FROM spaces').get()).toEqual({ size })
    database.close()
  })
})
