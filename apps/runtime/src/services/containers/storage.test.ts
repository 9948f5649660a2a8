import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { fc } from '../../../../../tests/harness/properties.ts'
import type { StorageChange, StorageReader, StorageSession } from '../engines/engine.ts'
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
const set = (items: Record<string, string>): StorageChange => ({ set: Object.entries(items) })

/** The items of an instance, as its messages say. */
function createMirror() {
  const items = new Map<string, string>()
  const received: StorageChange[] = []
  const allowed: boolean[] = []
  const reader: StorageReader = {
    async receive(change) {
      received.push(change)
      if ('set' in change) for (const [key, value] of change.set) items.set(key, value)
      else if ('remove' in change) for (const key of change.remove) items.delete(key)
      else items.set(change.setLong, Buffer.from(change.value).toString())
    },
    mayWrite: async (isAllowed) => void allowed.push(isAllowed),
  }
  return { items, received, allowed, reader }
}
const nobody = createMirror().reader

/** A session that may write. */
async function openWriter(id: string, quota: number): Promise<StorageSession> {
  const session = await storage.open(id, quota, nobody)
  await session.takeOver()
  return session
}

/** The messages to a new session. */
async function itemsOf(id: string): Promise<Map<string, string>> {
  const { items, reader } = createMirror()
  const session = await storage.open(id, 1000, reader)
  await session.follow()
  session.close()
  return items
}
const stored = async (id: string) => Object.fromEntries(await itemsOf(id))
const full = { reason: 'storage_full' }

describe('the storage of containers', () => {
  it('enforces the quota itself, whatever the program inside the sandbox claims', async () => {
    const session = await openWriter('a', 1000)
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
    const session = await openWriter('a', 1000)
    await session.write(set({ key: 'x'.repeat(800) }))
    await session.write({ remove: Array.from({ length: 100 }, () => 'key') })
    await session.write(set({ key: 'x'.repeat(900) }))
    await expect(session.write(set({ more: 'x'.repeat(100) }))).rejects.toMatchObject(full)
  })

  it('stores no more than the quota when many changes come at once', async () => {
    const session = await openWriter('a', 1000)
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, at) => session.write(set({ [`k${at}`]: 'x'.repeat(300) }))),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
  })

  it('lets a space shrink that is larger than a quota that became smaller', async () => {
    const large = await openWriter('a', 1000)
    await large.write(set({ a: 'x'.repeat(400), b: 'x'.repeat(400) }))
    const small = await openWriter('a', 500)
    await expect(small.write(set({ c: '' }))).rejects.toMatchObject(full)
    await small.write(set({ a: 'x'.repeat(300) }))
    await small.write({ remove: ['b'] })
    await small.write(set({ c: '' }))
    small.close()
    expect([...(await itemsOf('a')).keys()]).toEqual(['a', 'c'])
  })

  it('sends a reader what is stored and every change after it, of its own container and no other', async () => {
    const writer = await openWriter('a', 1000)
    await writer.write(set({ before: '1' }))
    const other = await openWriter('b', 1000)
    const mirror = createMirror()
    const reader = await storage.open('a', 1000, mirror.reader)
    await writer.write(set({ opened: '1' }))
    await reader.follow()
    await writer.write(set({ after: '1' }))
    await other.write(set({ foreign: '1' }))
    expect(mirror.received).toEqual([set({ before: '1', opened: '1' }), set({ after: '1' })])
    expect(await stored('b')).toEqual({ foreign: '1' })
  })

  it('gives a reader that begins during many writes exactly what is stored', async () => {
    const writer = await openWriter('a', 64 * 1024 * 1024)
    const change = (round: number, at: number) =>
      at % 7 === 0
        ? { remove: [`key ${(at + round) % 400}`] }
        : set({ [`key ${at}`]: `${round}`.padEnd(at % 11 === 0 ? 100_000 : 500, 'x') })
    for (let at = 0; at < 400; at++) await writer.write(change(0, at))
    const mirror = createMirror()
    const reader = await storage.open('a', 1000, mirror.reader)
    let isOver = false
    const writing = (async () => {
      for (let round = 1; !isOver; round++)
        for (let at = 0; at < 400 && !isOver; at++) await writer.write(change(round, at))
    })()
    await reader.follow()
    isOver = true
    await writing
    expect(mirror.items).toEqual(new Map([...(await itemsOf('a'))]))
  })

  it('lets one session write at a time: the one before has stored what it wrote when the next one may', async () => {
    const first = createMirror()
    const writer: StorageSession = await storage.open('a', 1000, {
      ...first.reader,
      async mayWrite(isAllowed) {
        first.allowed.push(isAllowed)
        if (!isAllowed) await writer.write(set({ last: 'words' }))
      },
    })
    await writer.follow()
    await writer.write(set({ k: 'v' }))
    const second = createMirror()
    const next = await storage.open('a', 1000, second.reader)
    await next.follow()
    await expect(next.write(set({ k: 'too early' }))).rejects.toMatchObject({ reason: 'conflict' })
    await next.takeOver()
    expect([first.allowed, second.allowed]).toEqual([[true, false], [true]])
    expect(Object.fromEntries(second.items)).toEqual({ k: 'v', last: 'words' })
    await expect(writer.write(set({ k: 'too late' }))).rejects.toMatchObject({ reason: 'conflict' })
    await next.write(set({ k: 'w' }))
    expect(first.received).toEqual([set({ k: 'w' })])
    expect(await stored('a')).toEqual({ k: 'w', last: 'words' })
  })

  it('revokes the right to write of a closed session, and grants it in turn', async () => {
    const mirrors = [createMirror(), createMirror(), createMirror()]
    const sessions: StorageSession[] = []
    for (const { reader } of mirrors) sessions.push(await storage.open('a', 1000, reader))
    await Promise.all(sessions.map((each) => each.takeOver()))
    expect(mirrors.map(({ allowed }) => allowed)).toEqual([[true, false], [true, false], [true]])
    sessions[2]!.close()
    await expect(sessions[2]!.write(set({ k: 'v' }))).rejects.toMatchObject({ reason: 'conflict' })
    await sessions[0]!.takeOver()
    await sessions[0]!.write(set({ k: 'v' }))
    expect(mirrors[2]!.allowed).toEqual([true])
  })

  it('counts by the quota of the session that may write', async () => {
    const large = await openWriter('a', 1000)
    await storage.open('a', 100, nobody)
    await large.write(set({ key: 'x'.repeat(800) }))
  })

  it('survives, and is removed', async () => {
    for (const id of ['a', 'b', 'c']) await (await openWriter(id, 1000)).write(set({ id }))
    await storage.close()
    storage = createContainerStorage(path())
    await storage.remove('a')
    await storage.remove('b')
    expect([await stored('a'), await stored('b'), await stored('c')]).toEqual([{}, {}, { id: 'c' }])
  })

  it('loads many items and long ones in parts that fit into a frame', async () => {
    const session = await openWriter('a', 64 * 1024 * 1024)
    const long = Buffer.alloc(5 * 1024 * 1024, 'ä')
    await session.write({ setLong: 'long', value: long })
    const keys = Array.from({ length: 2500 }, (_, at) => `key ${at}`)
    for (let at = 0; at < keys.length; at += 500)
      await session.write({ set: keys.slice(at, at + 500).map((key) => [key, 'v'.repeat(200)] as const) })
    session.close()
    const mirror = createMirror()
    await (await storage.open('a', 64 * 1024 * 1024, mirror.reader)).follow()
    const sizes: number[] = []
    for (const change of mirror.received)
      if ('set' in change) sizes.push(JSON.stringify(change.set).length, change.set.length)
    expect(Math.max(...sizes)).toBeLessThan(256 * 1024)
    expect(mirror.items.size).toBe(2501)
    expect(mirror.items.get('long')).toBe(long.toString())
  })

  it('accepts what an earlier version stored, and its size', async () => {
    const old = new DatabaseSync(path())
    old.exec(
      `CREATE TABLE items (container TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (container, key)) WITHOUT ROWID;
       INSERT INTO items VALUES ('a', 'k', '${'x'.repeat(800)}'); PRAGMA user_version = 1`,
    )
    old.close()
    const session = await openWriter('a', 1000)
    expect([...(await itemsOf('a')).keys()]).toEqual(['k'])
    await expect(session.write(set({ more: 'x'.repeat(100) }))).rejects.toMatchObject(full)
    await session.write(set({ k: '' }))
  })

  it('opens again after a failure to open', async () => {
    const blocker = new DatabaseSync(path())
    blocker.exec('PRAGMA user_version = 99')
    blocker.close()
    await expect(storage.open('a', 1, nobody)).rejects.toThrow(/version 99/)
    const mended = new DatabaseSync(path())
    mended.exec('PRAGMA user_version = 0')
    mended.close()
    await storage.open('a', 1, nobody)
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
        const session = await openWriter(id, quota)
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
        expect(await itemsOf(id)).toEqual(
          new Map([...model].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))),
        )
        session.close()
      }),
      { numRuns: 150 },
    )
  })
})

/** The rule in plain words: one item after the other, and nothing of a change that passes the quota on its way. */
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
