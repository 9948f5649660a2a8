import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../tests/harness/processes.ts'
import type { StorageChange } from '../engines/engine.ts'
import { type ContainerStorage, createContainerStorage } from './storage.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let storage: ContainerStorage
beforeEach(async () => {
  folder = await temporaryFolder()
  storage = createContainerStorage(join(folder.path, 'storage.db'))
})
afterEach(async () => {
  await storage.close()
  await folder.remove()
})
const nothing = () => undefined

describe('the storage of containers', () => {
  it('holds the quota itself, whatever the program inside the sandbox says', async () => {
    const session = await storage.open('a', 1000, nothing)
    await session.write({ set: { key: 'x'.repeat(800) } })
    await expect(session.write({ set: { more: 'x'.repeat(200) } })).rejects.toMatchObject({
      reason: 'storage_full',
    })
    await expect(session.write({ set: { '': '', b: '', c: '' } })).rejects.toMatchObject({
      reason: 'storage_full',
    })
    await session.write({ set: { key: 'x'.repeat(10), more: 'x'.repeat(700) } })
    await session.write({ remove: ['more'], set: { other: 'x'.repeat(700) } })
    session.close()
    expect(Object.keys((await storage.open('a', 1000, nothing)).items)).toEqual(['key', 'other'])
  })

  it('tells the sessions of one container of each other’s changes, and no other', async () => {
    const seen: StorageChange[] = []
    const first = await storage.open('a', 1000, (change) => seen.push(change))
    await storage.open('b', 1000, (change) => seen.push(change))
    const second = await storage.open('a', 1000, nothing)
    await second.write({ set: { k: 'v' } })
    await first.write({ set: { own: '1' } })
    expect(seen).toEqual([{ set: { k: 'v' }, remove: [] }])
    expect((await storage.open('a', 1000, nothing)).items).toEqual({ k: 'v', own: '1' })
    expect((await storage.open('b', 1000, nothing)).items).toEqual({})
  })

  it('survives, and is removed', async () => {
    for (const id of ['a', 'b', 'c']) await (await storage.open(id, 1000, nothing)).write({ set: { id } })
    await storage.close()
    storage = createContainerStorage(join(folder.path, 'storage.db'))
    await storage.remove('a')
    await storage.remove('b')
    const items = []
    for (const id of ['a', 'b', 'c']) items.push((await storage.open(id, 1000, nothing)).items)
    expect(items).toEqual([{}, {}, { id: 'c' }])
  })
})
