import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../tests/harness/processes.ts'
import type { StorageChange, StorageSession } from '../engines/engine.ts'
import { sizeOf } from '../engines/function/storage-change.ts'
import { type ContainerStorage, createContainerStorage } from './storage.ts'

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
const nothing = () => undefined
const set = (items: Record<string, string>): StorageChange => ({ set: Object.entries(items) })

async function itemsOf(session: StorageSession): Promise<Map<string, string>> {
  const items = new Map<string, string>()
  for await (const change of session.load()) {
    if ('set' in change) for (const [key, value] of change.set) items.set(key, value)
    if ('setLong' in change) items.set(change.setLong, Buffer.from(change.value).toString())
  }
  return items
}
const stored = async (id: string) => Object.fromEntries(await itemsOf(await storage.open(id, 1000, nothing)))
const full = { reason: 'storage_full' }

describe('the storage of containers', () => {
  it('enforces the quota itself, whatever the program inside the sandbox says', async () => {
    const session = await storage.open('a', 1000, nothing)
    await session.write(set({ key: 'x'.repeat(800) }))
    await expect(session.write(set({ more: 'x'.repeat(200) }))).rejects.toMatchObject(full)
    await expect(session.write(set({ '': '', b: '', c: '' }))).rejects.toMatchObject(full)
    await expect(session.write({ setLong: 'd', value: Buffer.alloc(200, 'x') })).rejects.toMatchObject(full)
    await session.write(set({ key: 'x'.repeat(10), more: 'x'.repeat(700) }))
    await session.write({ remove: ['more'] })
    await session.write(set({ other: 'x'.repeat(700) }))
    session.close()
    expect(Object.keys(await stored('a'))).toEqual(['key', 'other'])
  })

  it('counts a key once that is removed many times in one change', async () => {
    const session = await storage.open('a', 1000, nothing)
    await session.write(set({ key: 'x'.repeat(800) }))
    await session.write({ remove: Array.from({ length: 100 }, () => 'key') })
    await session.write(set({ key: 'x'.repeat(900) }))
    await expect(session.write(set({ more: 'x'.repeat(100) }))).rejects.toMatchObject(full)
  })

  it('stores no more than the quota when many write at once', async () => {
    const sessions = await Promise.all(Array.from({ length: 10 }, () => storage.open('a', 1000, nothing)))
    const results = await Promise.allSettled(
      sessions.map((session, at) => session.write(set({ [`k${at}`]: 'x'.repeat(300) }))),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
  })

  it('lets a space shrink that is larger than a quota that became smaller', async () => {
    const large = await storage.open('a', 1000, nothing)
    await large.write(set({ a: 'x'.repeat(400), b: 'x'.repeat(400) }))
    const small = await storage.open('a', 500, nothing)
    await expect(small.write(set({ c: '' }))).rejects.toMatchObject(full)
    await small.write(set({ a: 'x'.repeat(300) }))
    await small.write({ remove: ['b'] })
    await small.write(set({ c: '' }))
    expect([...(await itemsOf(small)).keys()]).toEqual(['a', 'c'])
  })

  it('sends the sessions of one container the changes of the others, and no other', async () => {
    const seen: StorageChange[] = []
    const see = (change: StorageChange) => void seen.push(change)
    const first = await storage.open('a', 1000, see)
    await storage.open('b', 1000, see)
    const second = await storage.open('a', 1000, nothing)
    await second.write(set({ k: 'v' }))
    await first.write(set({ own: '1' }))
    expect(seen).toEqual([{ set: [['k', 'v']] }])
    expect(await stored('a')).toEqual({ k: 'v', own: '1' })
    expect(await stored('b')).toEqual({})
  })

  it('survives, and is removed', async () => {
    for (const id of ['a', 'b', 'c']) await (await storage.open(id, 1000, nothing)).write(set({ id }))
    await storage.close()
    storage = createContainerStorage(path())
    await storage.remove('a')
    await storage.remove('b')
    expect([await stored('a'), await stored('b'), await stored('c')]).toEqual([{}, {}, { id: 'c' }])
  })

  it('loads many items and long ones in parts that fit into a frame', async () => {
    const session = await storage.open('a', 64 * 1024 * 1024, nothing)
    const long = Buffer.alloc(5 * 1024 * 1024, 'ä')
    await session.write({ setLong: 'long', value: long })
    const keys = Array.from({ length: 2500 }, (_, at) => `key ${at}`)
    for (let at = 0; at < keys.length; at += 500)
      await session.write({ set: keys.slice(at, at + 500).map((key) => [key, 'v'.repeat(200)] as const) })
    const sizes: number[] = []
    for await (const change of session.load())
      if ('set' in change) sizes.push(JSON.stringify(change.set).length, change.set.length)
    expect(Math.max(...sizes)).toBeLessThan(256 * 1024)
    const items = await itemsOf(session)
    expect(items.size).toBe(2501)
    expect(items.get('long')).toBe(long.toString())
  })

  it('takes over what an earlier version stored, and its size', async () => {
    const old = new DatabaseSync(path())
    old.exec(
      `CREATE TABLE items (container TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (container, key)) WITHOUT ROWID;
       INSERT INTO items VALUES ('a', 'k', '${'x'.repeat(800)}'); PRAGMA user_version = 1`,
    )
    old.close()
    const session = await storage.open('a', 1000, nothing)
    expect([...(await itemsOf(session)).keys()]).toEqual(['k'])
    await expect(session.write(set({ more: 'x'.repeat(100) }))).rejects.toMatchObject(full)
    await session.write(set({ k: '' }))
  })

  it('opens again after a failure to open', async () => {
    const blocker = new DatabaseSync(path())
    blocker.exec('PRAGMA user_version = 99')
    blocker.close()
    await expect(storage.open('a', 1, nothing)).rejects.toThrow(/version 99/)
    const mended = new DatabaseSync(path())
    mended.exec('PRAGMA user_version = 0')
    mended.close()
    await storage.open('a', 1, nothing)
  })

  const key = fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'toString', '', '\0', 'a\0b', '0', '1', 'é', '😀', '"', "'"),
    fc.string({ maxLength: 5, unit: 'binary' }).map((text) => text.toWellFormed()),
  )
  const value = fc.string({ maxLength: 300, unit: 'binary' }).map((text) => text.toWellFormed())
  const change: fc.Arbitrary<StorageChange> = fc.oneof(
    fc.record({ set: fc.array(fc.tuple(key, value), { maxLength: 6 }) }),
    fc.record({ remove: fc.array(key, { maxLength: 6 }) }),
    fc.record({ setLong: key, value: value.map((text) => new TextEncoder().encode(text)) }),
  )

  it('stores what a model of it stores, whatever comes in whatever order', async () => {
    const quota = 2000
    let containers = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 8 }), async (bursts) => {
        const id = `model ${++containers}`
        const session = await storage.open(id, quota, nothing)
        let model = new Map<string, string>()
        for (const burst of bursts) {
          // All at once: they are stored in the order in which they were asked for.
          const results = await Promise.allSettled(burst.map((each) => session.write(each)))
          for (const [at, each] of burst.entries()) {
            const { next, isRefused } = applied(model, each, quota)
            expect(results[at]!.status).toBe(isRefused ? 'rejected' : 'fulfilled')
            model = next
          }
        }
        expect(await itemsOf(session)).toEqual(
          new Map([...model].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))),
        )
        session.close()
      }),
      { numRuns: 150 },
    )
  })
})

/** The rule in plain words: one item after the other, and none of a change that passes the quota on its way. */
function applied(model: Map<string, string>, change: StorageChange, quota: number) {
  const next = new Map(model)
  const total = () => [...next].reduce((sum, [key, value]) => sum + sizeOf(key, value), 0)
  const items =
    'set' in change
      ? change.set
      : 'setLong' in change
        ? [[change.setLong, Buffer.from(change.value).toString()] as const]
        : []
  if ('remove' in change) for (const key of change.remove) next.delete(key)
  for (const [key, value] of items) {
    const before = total()
    next.set(key, value)
    if (total() > quota && total() > before) return { next: model, isRefused: true }
  }
  return { next, isRefused: false }
}
