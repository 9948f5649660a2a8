/** A database of a backup is used only if this program would have made it. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Migrations } from '../store/sql.ts'
import { StoreError } from '../store/store-error.ts'
import { openRestored } from './verify.ts'

const migrations: Migrations = [
  'CREATE TABLE one (a TEXT)',
  'CREATE TABLE two (b TEXT)',
  { table: 'three', sqlite: 'CREATE TABLE three (c TEXT)', postgres: 'CREATE TABLE three (c TEXT)' },
]

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verify-'))
  path = join(folder, 'restored.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A database of a backup. */
function make(version: number, ...statements: string[]): void {
  const database = new DatabaseSync(path)
  for (const each of statements) database.exec(each)
  database.exec(`PRAGMA user_version = ${version}`)
  database.close()
}

function open(): string[] {
  const database = openRestored(path, migrations)
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
  database.close()
  return tables.map(({ name }) => name as string)
}

const [first, second, third] = ['one (a TEXT)', 'two (b TEXT)', 'three (c TEXT)'].map(
  (table) => `CREATE TABLE ${table}`,
) as [string, string, string]

it.each([
  ['of this version', 2, [first, second, third]],
  ['of this version, without a table that was added later', 2, [first, second]],
  ['of a version before', 1, [first]],
  ['of a version before, with a table that was added', 1, [first, third]],
  ['that is empty', 0, []],
  ['with statistics of SQLite', 1, [first, 'INSERT INTO one VALUES (1)', 'ANALYZE']],
])('a database %s is opened, and brought up to date', (_, version, statements) => {
  make(version, ...statements)
  expect(open().filter((name) => !name.startsWith('sqlite_'))).toEqual(['one', 'three', 'two'])
})

it.each([
  [
    'of a later version',
    3,
    [first, 'CREATE TABLE four (d)'],
    /used: it is of version 3; this program knows 2\./,
  ],
  [
    'without a table',
    2,
    [first, third],
    /^the backup cannot be used: its database has other tables than this service makes. Nothing/,
  ],
  ['with a table of a later version', 1, [first, second], /has other tables/],
  ['with a foreign table', 2, [first, second, 'CREATE TABLE x (y)'], /has other tables/],
  ['with a table that was declared in another way', 2, [first, 'CREATE TABLE two (b BLOB)'], /other tables/],
  [
    'with a trigger',
    1,
    [first, 'CREATE TRIGGER sqlitex AFTER INSERT ON one BEGIN SELECT 1; END'],
    /other tables/,
  ],
])('a database %s is refused, and nothing is changed', (_, version, statements, message) => {
  make(version, ...statements)
  const before = readFileSync(path)
  expect(open).toThrow(message)
  expect(open).toThrow(StoreError)
  expect(readFileSync(path)).toEqual(before)
})

it('a file that is missing is not made', () => {
  expect(open).toThrow('unable to open database file')
  expect(existsSync(path)).toBe(false)
})

it('a file that is damaged, or no database, is refused as unusable', () => {
  writeFileSync(path, 'x'.repeat(5000))
  expect(open).toThrow(expect.objectContaining({ isUnrepairable: true, cause: expect.anything() }))
  expect(open).toThrow(/^the backup cannot be used: .*not a database. Nothing was changed$/)
  rmSync(path)
  make(
    1,
    first,
    'CREATE INDEX i ON one (a)',
    ...Array(200).fill(`INSERT INTO one VALUES ('${'x'.repeat(100)}')`),
  )
  const bytes = readFileSync(path)
  bytes.fill(7, statSync(path).size - 4096)
  writeFileSync(path, bytes)
  expect(open).toThrow(/damaged|malformed/)
})
