/** Copies a store into an empty one: `selvedge admin store copy`. Secrets stay encrypted. */
import { writeNote } from '@selvedge/service-kit/log'
import { openSql } from '@selvedge/service-kit/sql'
import { type Row, type SqlStore, type Statement, StoreError } from '@selvedge/service-kit/store'
import { migrations, tables } from './storage/schema.ts'

/** Rows in one transaction. */
const batch = 200

async function copyStore(from: SqlStore, to: SqlStore): Promise<Record<string, number>> {
  // Made by the migrations, and about to come from the other store.
  const made = new Set(['counters'])
  for (const table of tables) {
    const [row] = await to.run(statement(`SELECT COUNT(*) AS count FROM ${table}`))
    if (!made.has(table) && Number(row!.count) > 0)
      throw new StoreError(`the store to fill is not empty: its table ${table} has ${row!.count} rows`)
  }
  await to.transaction([...made].map((table) => statement(`DELETE FROM ${table}`)))
  const counts: Record<string, number> = {}
  for (const table of tables) {
    const rows = await from.run(statement(`SELECT * FROM ${table}`))
    for (let at = 0; at < rows.length; at += batch)
      await to.transaction(rows.slice(at, at + batch).map((row) => insert(table, row)))
    counts[table] = rows.length
  }
  return counts
}

const statement = (sql: string, values: Statement['values'] = []): Statement => ({ sql, values })

function insert(table: string, row: Row): Statement {
  const names = Object.keys(row)
  const marks = names.map(() => '?').join(', ')
  return statement(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`, Object.values(row))
}

async function main(): Promise<void> {
  const { SELVEDGE_COPY_FROM: source = '', SELVEDGE_COPY_TO: target = '' } = process.env
  const from = await openSql(source, migrations)
  const to = await openSql(target, migrations)
  const counts = await copyStore(from, to)
  await Promise.all([from.close(), to.close()])
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0)
  process.stdout.write(`${JSON.stringify({ rows, tables: counts })}\n`)
}

main().catch((cause: Error) => {
  writeNote(`error: ${cause.message}`)
  process.exit(1)
})
