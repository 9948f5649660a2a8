/**
 * Writes rows that have a maximum number. The limit is a condition of the statement that inserts a row:
 * `INSERT … WHERE (SELECT COUNT(*) …) < maximum`. That alone is exact in SQLite, which runs one transaction at a time. PostgreSQL runs
 * transactions in parallel, and a count does not include the rows that others have not committed yet. So transactions that count
 * the same rows take turns: their first statement locks a row until the end of the transaction.
 *
 * What is written with `changes.commit` takes turns already, by the row of the counter of changes.
 */
import { hash } from 'node:crypto'
import { type Row, type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'

/** Rows of the table `counters` that serve as locks; the same subject always has the same one. */
const maxLocks = 64

/**
 * @param counted names the rows that are counted, for example `projects of <account ID>`
 * @param statements of one transaction
 * @returns the rows of each statement
 */
export async function writeInTurn(
  store: SqlStore,
  counted: string,
  statements: readonly Statement[],
): Promise<Row[][]> {
  if (!store.isShared) return store.transaction(statements)
  const rows = await store.transaction([lockOf(counted), ...statements])
  return rows.slice(1)
}

function lockOf(counted: string): Statement {
  const name = `turn ${hash('sha256', counted, 'buffer')[0]! % maxLocks}`
  return sql`INSERT INTO counters VALUES (${name}, 0) ON CONFLICT (name) DO UPDATE SET value = counters.value`
}
