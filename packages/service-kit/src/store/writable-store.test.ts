/** A database that begins to refuse writes, and accepts them again. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createMemoryLog } from '../testing/index.ts'
import { type SqlStore, sql } from './sql.ts'
import { openSqlite } from './sqlite.ts'
import { StoreError } from './store-error.ts'
import { type Writability, watchWrites } from './writable-store.ts'

let folder: string
let store: SqlStore
let writability: Writability
let log: ReturnType<typeof createMemoryLog>
let time: number
/** Statements that were sent to the database. */
let sent: number
let isReadOnly: boolean
const readOnly = new StoreError('database: attempt to write a readonly database', {
  cause: { code: 'EROFS' },
})
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'writable-'))
  time = 0
  log = createMemoryLog()
  const opened = await openSqlite(join(folder, 'db'), [
    'CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL);',
  ])
  sent = 0
  isReadOnly = false
  const run: SqlStore['run'] = (statement) => {
    sent++
    // As SQLite and PostgreSQL answer: the disk of this test accepts writes.
    if (isReadOnly && !statement.sql.startsWith('SELECT ')) return Promise.reject(readOnly)
    return opened.run(statement)
  }
  ;({ store, writability } = watchWrites({ ...opened, run }, log, () => time))
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const setReadOnly = async (isOn: boolean) => {
  isReadOnly = isOn
}
const write = () => store.run(sql`INSERT INTO counters VALUES ('a', 1) ON CONFLICT DO NOTHING`)
const levels = () => log.lines.map((line) => JSON.parse(line).level as string)

it('a write that fails is noticed at once, a read continues, and a write that succeeds ends it', async () => {
  await write()
  await setReadOnly(true)
  await expect(write()).rejects.toThrow('readonly')
  await expect(write()).rejects.toThrow('readonly')
  expect(writability.isWritable()).toBe(false)
  expect(await store.run(sql`SELECT value FROM counters`)).toEqual([{ value: 1 }])
  expect(writability.isWritable()).toBe(false)
  await setReadOnly(false)
  await write()
  expect([writability.isWritable(), levels()]).toEqual([true, ['error', 'info']])
})

it('a check writes by itself if no write was answered for four seconds, once for all who ask', async () => {
  await setReadOnly(true)
  expect(writability.isWritable()).toBe(true)
  time = 4000
  sent = 0
  expect(await Promise.all([writability.check(), writability.check()])).toEqual([false, false])
  time = 7999
  expect(await writability.check()).toBe(false)
  expect(sent).toBe(1)
  await setReadOnly(false)
  time = 12_000
  expect(await writability.check()).toBe(true)
})

it('a statement that the database refuses for its content is no failure of the database', async () => {
  await expect(store.run(sql`INSERT INTO counters VALUES ('a', NULL)`)).rejects.toThrow('NOT NULL')
  expect([writability.isWritable(), levels()]).toEqual([true, []])
})
