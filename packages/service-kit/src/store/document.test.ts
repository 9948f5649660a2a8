import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDiskFaults, type DiskFaults } from '../testing/index.ts'
import { expectKnownVersion, openDocument } from './document.ts'
import { StoreError } from './store-error.ts'

interface Doc {
  readonly count: number
  readonly text: string
}
const read = (json: unknown): Doc => {
  const { count, text, ...rest } = json as Doc
  if (typeof count !== 'number' || typeof text !== 'string') throw new Error('no document')
  if (Object.keys(rest).length > 0) throw new Error(`unknown member ${Object.keys(rest)[0]}`)
  return { count, text }
}
const initial: Doc = { count: 0, text: '' }
const format = { version: 3, initial, read }
const slots = ['a', 'b'] as const
type Files = Readonly<Record<(typeof slots)[number], Buffer | undefined>>

let folder: string
const path = () => join(folder, 'state')
const open = () => openDocument(path(), format)
const file = (slot: string) => `${path()}.${slot}`
const readFiles = (): Files => ({ a: readFileSync(file('a')), b: readFileSync(file('b')) })
function writeFiles(files: Files): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name))
  for (const slot of slots) if (files[slot]) writeFileSync(file(slot), files[slot])
}
/** Opens the document and gives what it holds. */
async function outcome(): Promise<{ value: Doc; kinds: string[] }> {
  const store = await open()
  await store.close()
  return { value: store.value, kinds: store.notices.map(({ kind }) => kind) }
}
beforeEach(() => {
  // In memory where the system has such a folder: thousands of documents are opened.
  folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'document-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** The files after the second of two changes, and the file that it went to. */
async function twoChanges(length = 300): Promise<{ before: Files; after: Files; newest: 'a' | 'b' }> {
  const store = await open()
  await store.update(() => ({ count: 1, text: 'one '.repeat(length) }))
  await store.close()
  const before = readFiles()
  const again = await open()
  await again.update(() => ({ count: 2, text: 'two '.repeat(1.5 * length) }))
  await again.close()
  const after = readFiles()
  return { before, after, newest: after.a!.equals(before.a!) ? 'b' : 'a' }
}

describe('a document', () => {
  it('is what was acknowledged last, after it was opened again', async () => {
    const store = await open()
    for (let at = 0; at < 5; at++)
      await store.update((value) => ({ count: value.count + 1, text: 'x'.repeat(100 - at * 20) }))
    await store.close()
    expect(await outcome()).toEqual({ value: { count: 5, text: 'x'.repeat(20) }, kinds: [] })
    expect(readdirSync(folder).toSorted()).toEqual(['state.a', 'state.b'])
  })

  it('accepts a thousand changes at once, in their order, with few writes', async () => {
    const store = await open()
    await Promise.all(
      Array.from({ length: 1000 }, (_, at) =>
        store.update((value) => ({ ...value, count: value.count + at })),
      ),
    )
    await store.close()
    const generation = (content: Buffer) => Number(/^selvedge document \d+ 3 (\d+)/.exec(String(content))![1])
    const { a, b } = readFiles()
    expect(Math.max(generation(a!), generation(b!))).toBeLessThan(20)
    expect((await outcome()).value.count).toBe(499_500)
  })

  it('writes a lazy change only with the next one', async () => {
    const store = await open()
    await store.update((value) => ({ ...value, count: 1 }))
    await store.settled()
    const before = readFiles()
    store.updateLazily((value) => ({ ...value, text: 'lazy' }))
    await store.settled()
    expect(readFiles()).toEqual(before)
    await store.update((value) => ({ ...value, count: 2 }))
    await store.close()
    expect((await outcome()).value).toEqual({ count: 2, text: 'lazy' })
  })

  it('shows a change when it is on the disk, and refuses one that throws', async () => {
    const store = await open()
    const written = store.update((value) => ({ ...value, count: 1 }))
    expect(store.value.count).toBe(0)
    const refused = store.update(({ count }) => {
      throw new Error(`the count is ${count} already`)
    })
    await expect(refused).rejects.toThrow('the count is 1 already')
    await written
    expect(store.value.count).toBe(1)
    await store.close()
  })
})

describe('after a power cut', () => {
  it('at the first start a document starts empty, and nothing is called damaged', async () => {
    const store = await open()
    await store.close()
    const { a, b } = readFiles()
    // Each file comes into its folder whole, the first before the second.
    for (const files of [{}, { a }, { a, b }] as Files[]) {
      writeFiles(files)
      expect(await outcome()).toEqual({ value: initial, kinds: [] })
    }
    writeFiles({ a, b })
    const first = await open()
    await first.update(() => ({ count: 1, text: 'first '.repeat(500) }))
    await first.close()
    const written = readFileSync(file('b'))
    for (let cut = 0; cut < written.length; cut += 512) {
      writeFiles({ a, b: Buffer.concat([unmarked(written).subarray(0, cut), b!.subarray(cut)]) })
      expect(await outcome(), `after ${cut} bytes`).toEqual({ value: initial, kinds: [] })
    }
    // ext4 may write over a block before the file's new length is on the disk.
    writeFiles({ a, b: unmarked(written).subarray(0, b!.length) })
    expect(await outcome()).toEqual({ value: initial, kinds: [] })
  })

  it('the old or the new one is found whole, whichever sectors of the write reached the disk', async () => {
    const { before, after, newest } = await twoChanges()
    const third = await open()
    await third.update(() => ({ count: 3, text: 'three '.repeat(400) }))
    await third.close()
    const slot = newest === 'a' ? 'b' : 'a'
    const written = unmarked(readFileSync(file(slot)))
    const sectors = Math.ceil(written.length / 512)
    const found = { 2: 0, 3: 0 }
    for (let mask = 0; mask < 2 ** sectors; mask++) {
      const torn = Buffer.alloc(written.length)
      before[slot]!.copy(torn)
      for (let at = 0; at < sectors; at++)
        if (mask & (1 << at)) written.copy(torn, at * 512, at * 512, (at + 1) * 512)
      // The file is as long as before where its new length did not reach the disk.
      for (const length of [torn.length, Math.min(torn.length, before[slot]!.length)]) {
        writeFiles({ ...after, [slot]: torn.subarray(0, length) })
        const { value, kinds } = await outcome()
        expect({ mask, length, kinds }).toEqual({ mask, length, kinds: [] })
        expect([2, 3]).toContain(value.count)
        found[value.count as 2 | 3]++
      }
    }
    expect(found[3]).toBe(1)
    expect(found[2]).toBe(2 * 2 ** sectors - 1)
  })
})

describe('damage', () => {
  it('of one bit anywhere in either file is never a silent return to an older document', async () => {
    const { after, newest } = await twoChanges(10)
    const outcomes = { kept: 0, rolledBack: 0 }
    for (const slot of slots) {
      const content = after[slot]!
      for (let bit = 0; bit < content.length * 8; bit++) {
        const changed = Buffer.from(content)
        changed[bit >> 3]! ^= 1 << (bit & 7)
        writeFiles({ ...after, [slot]: changed })
        const { value, kinds } = await outcome()
        if (value.count === 2) outcomes.kept++
        else {
          expect({ slot, bit, count: value.count, kinds }).toEqual({
            slot: newest,
            bit,
            count: 1,
            kinds: ['rolled_back'],
          })
          outcomes.rolledBack++
        }
      }
    }
    expect(outcomes.rolledBack).toBeGreaterThan(1000)
    expect(outcomes.kept).toBeGreaterThan(1000)
  })

  it('by truncation of either file is noticed, to every length', async () => {
    const { after, newest } = await twoChanges()
    for (const slot of slots) {
      for (let length = 0; length < after[slot]!.length; length += length < 200 ? 1 : 37) {
        writeFiles({ ...after, [slot]: after[slot]!.subarray(0, length) })
        const { value, kinds } = await outcome()
        expect(value.count).toBe(slot === newest ? 1 : 2)
        if (slot === newest) expect({ length, kinds }).toEqual({ length, kinds: ['rolled_back'] })
      }
      writeFiles({ ...after, [slot]: undefined })
      expect((await outcome()).kinds).toEqual(['rolled_back'])
    }
  })

  it('is said once, names the file that was set aside, and the document remains usable', async () => {
    const { after, newest } = await twoChanges()
    after[newest]!.write('#', 400)
    writeFiles(after)
    const store = await open()
    const [, aside] = /set aside as (\S+);/.exec(store.notices[0]!.detail)!
    expect(readFileSync(aside!)).toEqual(after[newest])
    await store.update((value) => ({ ...value, count: 5 }))
    await store.close()
    expect(await outcome()).toMatchObject({ value: { count: 5 }, kinds: [] })
  })

  it('in both files sets them aside with a notice', async () => {
    const { after } = await twoChanges()
    for (const slot of slots) after[slot]!.write('#', 300)
    writeFiles(after)
    const store = await open()
    expect(store.value).toEqual(initial)
    expect(store.notices).toMatchObject([{ kind: 'reset' }])
    const names = /set aside as (\S+) and (\S+);/.exec(store.notices[0]!.detail)!.slice(1)
    for (const [at, slot] of slots.entries()) expect(readFileSync(names[at]!)).toEqual(after[slot])
    await store.close()
  })
})

describe('a document of another version', () => {
  const sealed = (line: string, body: string) => {
    const head = line.replace('#', createHash('sha256').update(`9 ${body}`).digest('hex'))
    return Buffer.from(`${head} ${crc32(head).toString(16).padStart(8, '0')} +\n${body}`)
  }

  it.each([
    ['of a later version', 'selvedge document 1 4 9 2 #', 'version 4, and this program knows version 3.'],
    [
      'in a later file format',
      'selvedge document 2 1 9 2 #',
      'file format 2, and this program knows file format 1.',
    ],
  ])('%s stops the program and is left as it is', async (_, line, message) => {
    const { after } = await twoChanges()
    for (const slot of slots) {
      writeFiles({ ...after, [slot]: sealed(line, '{}') })
      const before = readFiles()
      const refusal = { isUnrepairable: true, message: expect.stringContaining(message) }
      await expect(open()).rejects.toMatchObject(refusal)
      await expect(expectKnownVersion(path(), 3)).rejects.toMatchObject(refusal)
      expect(readFiles()).toEqual(before)
      expect(readdirSync(folder)).toHaveLength(2)
    }
  })

  it('with a member that is not known stops the program and is left as it is', async () => {
    const { after } = await twoChanges()
    writeFiles({ ...after, a: sealed('selvedge document 1 3 9 33 #', '{"count":1,"text":"","more":true}') })
    const before = readFiles()
    await expect(open()).rejects.toMatchObject({
      isUnrepairable: true,
      message: expect.stringContaining('does not know: unknown member more'),
    })
    expect(readFiles()).toEqual(before)
  })

  it('of the first file format is read, and written in the present one', async () => {
    const body = '{"count":9,"text":"old"}'
    const digest = createHash('sha256').update(`1 ${body}`).digest('hex')
    writeFiles({ a: Buffer.from(`selvedge 1 ${body.length} ${digest}\n${body}`), b: Buffer.alloc(0) })
    expect(await outcome()).toEqual({ value: { count: 9, text: 'old' }, kinds: [] })
    const store = await open()
    await store.update((value) => ({ ...value, count: 10 }))
    await store.close()
    expect(await outcome()).toEqual({ value: { count: 10, text: 'old' }, kinds: [] })
  })
})

describe('on a disk that fails', () => {
  let disk: DiskFaults
  beforeEach(async () => {
    disk = await createDiskFaults()
  })
  afterEach(() => disk.repair())

  it.each(['write', 'datasync'] as const)(
    'a failed %s is refused, and nothing of it is seen',
    async (method) => {
      const store = await open()
      await store.update((value) => ({ ...value, count: 1 }))
      disk.fail(method)
      const refused = store.update((value) => ({ ...value, count: value.count + 1 }))
      await expect(refused).rejects.toMatchObject({ constructor: StoreError, full: true })
      expect(store.value.count).toBe(1)
      disk.repair()
      await store.update((value) => ({ ...value, text: 'fine' }))
      expect(store.value).toEqual({ count: 1, text: 'fine' })
      await store.close()
      expect(await outcome()).toEqual({ value: { count: 1, text: 'fine' }, kinds: [] })
    },
  )

  it('a refused change does not come back with the next start', async () => {
    const store = await open()
    await store.update((value) => ({ ...value, count: 1 }))
    disk.fail('datasync', 1)
    await expect(store.update(() => ({ count: 2, text: 'refused' }))).rejects.toThrow(StoreError)
    disk.repair()
    await store.close()
    expect(await outcome()).toEqual({ value: { count: 1, text: '' }, kinds: [] })
  })

  it('a lazy change survives failed writes, also one made while a write is under way', async () => {
    const store = await open()
    const first = store.update((value) => ({ ...value, count: 1 }))
    store.updateLazily((value) => ({ ...value, text: 'lazy' }))
    expect(store.value).toEqual({ count: 0, text: 'lazy' })
    await first
    await store.settled()
    disk.fail('write')
    await expect(store.update((value) => ({ ...value, count: 2 }))).rejects.toThrow(StoreError)
    expect(store.value).toEqual({ count: 1, text: 'lazy' })
    const during = store.update((value) => ({ ...value, count: 3 }))
    store.updateLazily((value) => ({ ...value, text: `${value.text} twice` }))
    await expect(during).rejects.toThrow(StoreError)
    expect(store.value).toEqual({ count: 1, text: 'lazy twice' })
    disk.repair()
    await store.update((value) => value)
    await store.close()
    expect(await outcome()).toEqual({ value: { count: 1, text: 'lazy twice' }, kinds: [] })
  })

  it('a change that waits for a refused one is made without it, or refused', async () => {
    const store = await open()
    disk.fail('write', 1)
    const [refused, dependent, independent] = await Promise.allSettled([
      store.update((value) => ({ ...value, count: 1 })),
      Promise.resolve().then(() =>
        store.update((value) => {
          if (value.count !== 1) throw new Error('it needs the one before')
          return { ...value, text: 'second' }
        }),
      ),
      Promise.resolve().then(() => store.update((value) => ({ ...value, text: 'third' }))),
    ])
    expect([refused, dependent, independent].map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(store.value).toEqual({ count: 0, text: 'third' })
    await store.close()
  })
})

/** A file as it is before its write is known to be on the disk. */
function unmarked(content: Buffer): Buffer {
  const changed = Buffer.from(content)
  expect(changed.toString('latin1', changed.indexOf('\n') - 1).startsWith('+\n')).toBe(true)
  changed.write('-', changed.indexOf('\n') - 1)
  return changed
}
