/** What opening a document does to its two files, and its notices of damage. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDiskFaults, type DiskFaults } from '../testing/index.ts'
import { openDocument } from './document.ts'
import { StoreError } from './store-error.ts'

const read = (json: unknown) => {
  const { count } = json as { count: unknown }
  if (typeof count !== 'number') throw new Error('no count')
  return { count }
}
let folder: string
let disk: DiskFaults
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'document-'))
  disk = await createDiskFaults()
})
afterEach(() => {
  disk.repair()
  rmSync(folder, { recursive: true })
})
const open = () => openDocument(join(folder, 'state'), { version: 3, initial: { count: 0 }, read })
const file = (slot: 'a' | 'b') => join(folder, `state.${slot}`)
const content = (slot: 'a' | 'b') => readFileSync(file(slot))

/** Makes so many changes, the first one in the file `b`. */
async function change(times: number): Promise<void> {
  const store = await open()
  for (let at = 1; at <= times; at++) await store.update(() => ({ count: at }))
  await store.close()
}
async function outcome() {
  const store = await open()
  await store.close()
  return { count: store.value.count, notices: store.notices }
}

describe('opening a sound document', () => {
  it('changes no file', async () => {
    await change(3)
    const before = [content('a'), content('b')]
    expect(await outcome()).toEqual({ count: 3, notices: [] })
    expect([content('a'), content('b')]).toEqual(before)
  })

  it('syncs and marks a change that may not be on the disk', async () => {
    await change(1)
    const marked = content('b')
    const markAt = marked.indexOf('\n') - 1
    const unmarked = Buffer.from(marked)
    unmarked.write('-', markAt)
    writeFileSync(file('b'), unmarked)
    disk.fail('datasync')
    const refused = await open().catch((cause) => cause)
    expect(refused).toBeInstanceOf(StoreError)
    expect(refused.message).toBe(`can't use the state folder ${folder}: no space left on device`)
    expect(refused.cause).toMatchObject({ code: 'ENOSPC' })
    expect(content('b')).toEqual(unmarked)
    disk.repair()
    expect(await outcome()).toEqual({ count: 1, notices: [] })
    expect(content('b')).toEqual(marked)
  })

  it('of the first file format accepts a second file that was never written', async () => {
    const body = '{"count":9}'
    const firstFormat = (generation: number) => {
      const digest = createHash('sha256').update(`${generation} ${body}`).digest('hex')
      return `selvedge ${generation} ${body.length} ${digest}\n${body}`
    }
    for (const [generation, kinds] of [
      [1, []],
      [2, ['rolled_back']],
    ] as const) {
      writeFileSync(file('a'), firstFormat(generation))
      writeFileSync(file('b'), 'damaged')
      const { count, notices } = await outcome()
      expect({ count, kinds: notices.map(({ kind }) => kind) }).toEqual({ count: 9, kinds })
    }
  })
})

describe('a damaged document', () => {
  it('continues with the state before its last change, which is reported once', async () => {
    await change(1)
    writeFileSync(file('b'), 'damaged')
    const { count, notices } = await outcome()
    expect(count).toBe(0)
    const aside = readdirSync(folder).find((name) => /^state\.b\.damaged-[0-9a-f]{8}$/.test(name))!
    expect(notices).toEqual([
      {
        kind: 'rolled_back',
        detail:
          `the state in ${join(folder, 'state')} is damaged; it is set aside as ${join(folder, aside)}; ` +
          'the document from before its last change is used: repeat what was changed last',
      },
    ])
    expect(await outcome()).toEqual({ count: 0, notices: [] })
  })

  it('is noticed also where the file of the last change is missing', async () => {
    await change(2)
    rmSync(file('b'))
    const { count, notices } = await outcome()
    expect(count).toBe(2)
    expect(notices).toMatchObject([
      {
        kind: 'rolled_back',
        detail: expect.stringContaining('; a file of it is missing; the document from'),
      },
    ])
  })

  it('starts empty where nothing of it can be read, also if the other file is missing', async () => {
    await change(1)
    rmSync(file('b'))
    writeFileSync(file('a'), 'damaged')
    const { count, notices } = await outcome()
    expect(count).toBe(0)
    expect(notices).toMatchObject([
      {
        kind: 'reset',
        detail: expect.stringMatching(/; what it held is gone until you restore it from a backup$/),
      },
    ])
    expect(await outcome()).toEqual({ count: 0, notices: [] })
  })

  it('is one before its first change, too: what is written first is known to be on the disk', async () => {
    await change(0)
    const first = content('a')
    first.write('#', first.indexOf('\n') + 2)
    writeFileSync(file('a'), first)
    expect((await outcome()).notices).toMatchObject([{ kind: 'reset' }])
  })

  it('is named with its file if another version wrote it', async () => {
    const store = await openDocument(join(folder, 'state'), {
      version: 3,
      initial: { other: 0 },
      read: () => ({ other: 0 }),
    })
    await store.close()
    await expect(open()).rejects.toThrow(`the state in ${file('a')} is of a format`)
  })
})

describe('a change', () => {
  it('that cannot be written is refused with the file and the cause', async () => {
    const store = await open()
    disk.fail('write')
    await expect(store.update(() => ({ count: 1 }))).rejects.toThrow(
      `can't write ${file('b')}: no space left on device`,
    )
    await store.close()
  })

  it('that is refused writes nothing', async () => {
    const store = await open()
    const before = [content('a'), content('b')]
    const refused = store.update(() => {
      throw new Error('refused')
    })
    await expect(refused).rejects.toThrow('refused')
    await store.settled()
    expect([content('a'), content('b')]).toEqual(before)
    await store.close()
  })

  it('is on the disk, or refused, once the document is settled', async () => {
    const store = await open()
    await store.settled()
    disk.hold('datasync')
    const written = store.update(() => ({ count: 1 }))
    let isSettled = false
    const settled = store.settled().then(() => {
      isSettled = true
    })
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    expect(isSettled).toBe(false)
    disk.repair()
    await settled
    expect(store.value.count).toBe(1)
    await written
    await store.close()
  })
})
