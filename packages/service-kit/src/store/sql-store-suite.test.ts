/** The suite of the SQL storage port; every implementation passes it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Migrations, type SqlStore, sql } from './sql.ts'
import { openSqlite } from './sqlite.ts'
import { StoreError } from './store-error.ts'

const migrations: Migrations = ['CREATE TABLE things (name TEXT PRIMARY KEY, count BIGINT NOT NULL)']
const implementations = {
  sqlite: (folder: string, steps: Migrations) => openSqlite(join(folder, 'test.db'), steps),
}

describe.each(Object.entries(implementations))('%s', (_, open) => {
  let folder: string
  let store: SqlStore
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sql-'))
    store = await open(folder, migrations)
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const all = () => store.run(sql`SELECT name, count FROM things ORDER BY name`)

  it('gives back what was put in, after it was opened again', async () => {
    await store.run(sql`INSERT INTO things VALUES (${"it's"}, ${9_007_199_254_740_991})`)
    await store.close()
    store = await open(folder, migrations)
    expect(await all()).toEqual([{ name: "it's", count: 9_007_199_254_740_991 }])
  })

  it('does all of a transaction or nothing', async () => {
    const failing = store.transaction([
      sql`INSERT INTO things VALUES ('a', 1)`,
      sql`INSERT INTO things VALUES ('a', 2)`,
    ])
    await expect(failing).rejects.toThrow(StoreError)
    expect(await all()).toEqual([])
  })

  it('lets one that fails take no other with it that was sent at the same time', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 200 }, (__, at) =>
        store.run(sql`INSERT INTO things VALUES (${`n${Math.floor(at / 2)}`}, ${at})`),
      ),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    expect(await all()).toHaveLength(100)
  })

  it('has one winner when many change the same row on a condition', async () => {
    await store.run(sql`INSERT INTO things VALUES ('code', 0)`)
    const tries = await Promise.all(
      Array.from({ length: 50 }, (__, at) =>
        store.run(sql`UPDATE things SET count = ${at + 1} WHERE name = 'code' AND count = 0 RETURNING count`),
      ),
    )
    expect(tries.filter((rows) => rows.length === 1)).toHaveLength(1)
  })

  it('runs each migration once, and refuses a database that is newer than the program', async () => {
    await store.run(sql`INSERT INTO things VALUES ('a', 1)`)
    await store.close()
    store = await open(folder, [...migrations, 'ALTER TABLE things ADD COLUMN extra TEXT'])
    expect(await store.run(sql`SELECT * FROM things`)).toEqual([{ name: 'a', count: 1, extra: null }])
    await expect(open(folder, migrations)).rejects.toThrow('it is of version 2; this program knows 1')
  })

  it('that is damaged is not opened', async () => {
    const other = mkdtempSync(join(tmpdir(), 'sql-'))
    writeFileSync(
      join(other, 'test.db'),
      'this is no database, and long enough to be looked at as one'.repeat(20),
    )
    await expect(open(other, migrations)).rejects.toThrow(/can't open the database/)
    rmSync(other, { recursive: true, force: true })
  })
})
