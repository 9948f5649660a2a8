import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDocument } from './document.ts'
import { StoreError } from './store-error.ts'

interface Doc {
  readonly count: number
  readonly text: string
}
const read = (json: unknown): Doc => {
  const { count, text } = json as Doc
  if (typeof count !== 'number' || typeof text !== 'string') throw new Error('no document')
  return { count, text }
}
const initial: Doc = { count: 0, text: '' }

let folder: string
const path = () => join(folder, 'state')
const open = () => openDocument(path(), initial, read)
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'document-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a document', () => {
  it('is what was acknowledged last, after it was opened again', async () => {
    const store = await open()
    for (let at = 0; at < 5; at++)
      await store.update((value) => ({ count: value.count + 1, text: 'x'.repeat(100 - at * 20) }))
    await store.close()
    const again = await open()
    expect(again.value).toEqual({ count: 5, text: 'x'.repeat(20) })
    expect(again.notices).toEqual([])
    await again.close()
  })

  it('takes a thousand changes at once, in their order, with few writes', async () => {
    const store = await open()
    await Promise.all(
      Array.from({ length: 1000 }, (_, at) =>
        store.update((value) => ({ ...value, count: value.count + at })),
      ),
    )
    await store.close()
    const header = (slot: string) =>
      Number(/^selvedge (\d+)/.exec(readFileSync(`${path()}.${slot}`, 'utf8'))![1])
    expect(Math.max(header('a'), header('b'))).toBeLessThan(20)
    const again = await open()
    expect(again.value.count).toBe(499_500)
    await again.close()
  })

  it('writes a lazy change only with the next one', async () => {
    const store = await open()
    await store.update((value) => ({ ...value, count: 1 }))
    const before = [readFileSync(`${path()}.a`), readFileSync(`${path()}.b`)]
    store.updateLazily((value) => ({ ...value, text: 'lazy' }))
    await store.settled()
    expect([readFileSync(`${path()}.a`), readFileSync(`${path()}.b`)]).toEqual(before)
    await store.update((value) => ({ ...value, count: 2 }))
    await store.close()
    const again = await open()
    expect(again.value).toEqual({ count: 2, text: 'lazy' })
    await again.close()
  })

  it('survives a power cut at every byte of a write: the old or the new one is found, whole', async () => {
    const old = await open()
    await old.update(() => ({ count: 1, text: 'old '.repeat(20) }))
    await old.update(() => ({ count: 2, text: 'older and longer '.repeat(20) }))
    await old.close()
    const before = join(folder, 'before')
    mkdirSync(before)
    for (const slot of ['a', 'b']) copyFileSync(`${path()}.${slot}`, join(before, slot))
    const store = await open()
    await store.update(() => ({ count: 3, text: 'new '.repeat(20) }))
    await store.close()
    const written = (['a', 'b'] as const).find(
      (slot) => !readFileSync(`${path()}.${slot}`).equals(readFileSync(join(before, slot))),
    )!
    const target = readFileSync(`${path()}.${written}`)
    const source = readFileSync(join(before, written))
    const found = { old: 0, new: 0 }
    for (let cut = 0; cut <= target.length; cut++) {
      // The head of the write reached the disk, the rest of the file is as it was; or the other way round: the tail first.
      for (const torn of [
        Buffer.concat([target.subarray(0, cut), source.subarray(cut)]),
        Buffer.concat([source.subarray(0, cut), target.subarray(cut)]),
      ]) {
        for (const slot of ['a', 'b']) copyFileSync(join(before, slot), `${path()}.${slot}`)
        writeFileSync(`${path()}.${written}`, torn)
        const after = await open()
        const { count, text } = after.value
        expect([`2 ${'older and longer '.repeat(20)}`, `3 ${'new '.repeat(20)}`], `cut at ${cut}`).toContain(
          `${count} ${text}`,
        )
        expect(after.notices).toEqual([])
        found[count === 3 ? 'new' : 'old']++
        await after.close()
      }
    }
    console.info(
      `${2 * (target.length + 1)} cuts: ${found.old} found the old document, ${found.new} the new one`,
    )
    expect(found.new).toBeGreaterThan(0)
  })

  it('that is damaged in both files is set aside with a notice, not overwritten', async () => {
    const store = await open()
    await store.update(() => ({ count: 1, text: 'precious' }))
    await store.update(() => ({ count: 2, text: 'precious' }))
    await store.close()
    for (const slot of ['a', 'b']) truncateSync(`${path()}.${slot}`, 90)
    const again = await open()
    expect(again.value).toEqual(initial)
    const [, first] = /set aside as (\S+) and/.exec(again.notices[0]!)!
    expect(readFileSync(first!, 'utf8')).toMatch(/^selvedge /)
    await again.close()
  })

  it('of a format that is not known is left as it is, and stops the program', async () => {
    const store = await open()
    await store.update(() => ({ count: 1, text: 'precious' }))
    await store.close()
    const before = readFileSync(`${path()}.a`, 'utf8')
    const older = openDocument(path(), initial, () => {
      throw new Error('a member of a newer version')
    })
    await expect(older).rejects.toMatchObject({
      isUnrepairable: true,
      message: expect.stringContaining('is of a format that this version does not know'),
    })
    expect(readFileSync(`${path()}.a`, 'utf8')).toBe(before)
  })

  it('that can’t be written says so, takes the change back, and goes on when it can', async () => {
    const store = await open()
    await store.update((value) => ({ ...value, count: 1 }))
    const broken = store.update(() => ({ count: 2, text: 1n as never }))
    await expect(broken).rejects.toThrow(StoreError)
    expect(store.value.count).toBe(1)
    await store.update((value) => ({ ...value, text: 'fine' }))
    await store.close()
    const again = await open()
    expect(again.value).toEqual({ count: 1, text: 'fine' })
    await again.close()
  })
})
