/** What is in a database, opened as a daemon opens it. */
import { existsSync } from 'node:fs'
import type { Migrations, Row } from '@selvedge/service-kit/store'
import { openDatabase } from '../../../../packages/service-kit/src/store/platform/open-database.ts'
import type { PartView } from '../subject.ts'

/** Rows by table. */
export type Tables = Readonly<Record<string, readonly Row[]>>

/**
 * @param mayBeAbsent the daemon opens it only when it is first needed
 * @throws Error where it can't be opened, or contradicts itself
 */
export function readDatabase(
  path: string,
  migrations: Migrations,
  mayBeAbsent = false,
): PartView & { facts: Tables } {
  if (mayBeAbsent && !existsSync(path)) return { facts: {}, whole: '', alarms: [] }
  const database = openDatabase(path, migrations)
  try {
    const all = (text: string) => database.prepare(text).all() as unknown as Row[]
    const [{ integrity_check: integrity } = {}] = all('PRAGMA integrity_check')
    if (integrity !== 'ok') throw new Error(`the database is damaged: ${integrity}`)
    const orphans = all('PRAGMA foreign_key_check')
    if (orphans.length > 0)
      throw new Error(`a row refers to one that is not there: ${JSON.stringify(orphans[0])}`)
    const names = all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    const facts: Record<string, Row[]> = {}
    for (const { name } of names) facts[name as string] = all(`SELECT * FROM "${name}"`)
    const sorted = Object.entries(facts).map(([name, rows]) => [
      name,
      rows.map((row) => JSON.stringify(row)).sort(),
    ])
    return { facts, whole: JSON.stringify(sorted), alarms: [] }
  } finally {
    database.close()
  }
}
