import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createMemoryLog } from '../testing/index.ts'
import { type DocumentFormat, type DocumentStore, openDocument } from './document.ts'
import { createLearned } from './learned.ts'

interface Known {
  readonly key: string
  readonly count: number
}
const format: DocumentFormat<Known> = {
  version: 1,
  initial: { key: '', count: 0 },
  read: (json) => json as Known,
}

let folder: string
let store: DocumentStore<Known>
let log: ReturnType<typeof createMemoryLog>
/** Whether the disk refuses writes. */
let isFull: boolean
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'learned-'))
  store = await openDocument(join(folder, 'known'), format)
  log = createMemoryLog()
  isFull = false
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const open = () =>
  createLearned<Known>(
    {
      updateLazily: store.updateLazily,
      update: (change) => (isFull ? Promise.reject(new Error('ENOSPC')) : store.update(change)),
    },
    { where: 'test.learned', log, times: { firstMs: 1, maxMs: 5 } },
  )
const stored = async () => {
  const copy = await openDocument(join(folder, 'known'), format)
  await copy.close()
  return copy.value
}

it('is used at once, and on the disk as soon as the disk accepts it, with one line in the log', async () => {
  isFull = true
  const learned = open()
  learned.learn('key', (value) => ({ ...value, key: 'new' }))
  expect(store.value.key).toBe('new')
  learned.learn('count', (value) => ({ ...value, count: 1 }))
  await expect.poll(() => log.lines.length).toBe(1)
  expect(await stored()).toEqual(format.initial)
  isFull = false
  await expect.poll(stored).toEqual({ key: 'new', count: 1 })
  expect(log.lines).toHaveLength(1)
  await learned.stop()
})

it('is written once more when it stops', async () => {
  isFull = true
  const learned = open()
  learned.learn('key', (value) => ({ ...value, key: 'last' }))
  await expect.poll(() => log.lines.length).toBe(1)
  isFull = false
  await learned.stop()
  expect(await stored()).toMatchObject({ key: 'last' })
})
