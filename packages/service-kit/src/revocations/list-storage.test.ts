/** The lists of other issuers in the database of a service. */
import { expect, it } from 'vitest'
import { openMemoryStore } from '../testing/index.ts'
import { openListStorage } from './list-storage.ts'
import type { StoredList, StoredLists } from './lists.ts'

const list = (seq: number): StoredList => ({
  ...{ iat: 1, seq, mark: '', etag: '', restartedUntil: 0, retained: [] },
  ...{ revoked: ['a'], not_before: { b: 1 }, epochs: {} },
})
const table = ['CREATE TABLE revocation_lists (issuer TEXT PRIMARY KEY, list TEXT NOT NULL)']
const put =
  (issuer: string, seq: number) =>
  ({ lists }: StoredLists): StoredLists => ({ lists: { ...lists, [issuer]: list(seq) } })

it('what is stored is there after a restart, with the newest list of each issuer', async () => {
  const database = openMemoryStore(table)
  const storage = await openListStorage(database)
  expect(storage.value).toEqual({ lists: {} })
  await storage.update(put('one', 1))
  await storage.update(put('two', 2))
  await storage.update(put('one', 3))
  const expected = { lists: { one: list(3), two: list(2) } }
  expect(storage.value).toEqual(expected)
  expect((await openListStorage(database)).value).toEqual(expected)
})

it('writes only what changed', async () => {
  const database = openMemoryStore(table)
  const written: number[] = []
  const storage = await openListStorage({
    ...database,
    transaction(statements) {
      written.push(statements.length)
      return database.transaction(statements)
    },
  })
  await storage.update(put('one', 1))
  await storage.update(put('two', 1))
  await storage.update((value) => value)
  expect(written).toEqual([1, 1, 0])
})

it('two lists that are stored at once are both there', async () => {
  const storage = await openListStorage(openMemoryStore(table))
  await Promise.all([storage.update(put('one', 1)), storage.update(put('two', 2))])
  expect(Object.keys(storage.value.lists).sort()).toEqual(['one', 'two'])
})

it('what could not be stored does not count as stored', async () => {
  const database = openMemoryStore(table)
  const storage = await openListStorage(database)
  await database.close()
  await expect(storage.update(put('one', 1))).rejects.toThrow()
  expect(storage.value).toEqual({ lists: {} })
})

it('a stored list that cannot be read keeps the service from starting', async () => {
  const database = openMemoryStore([...table, `INSERT INTO revocation_lists VALUES ('one', '{}')`])
  await expect(openListStorage(database)).rejects.toThrow()
})
