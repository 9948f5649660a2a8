/** Changes of a project. Each writes what it states and nothing else: another owner may change the rest at the same moment. */
import { type Statement, sql } from '@selvedge/service-kit/store'

/** Members that are absent or undefined stay as they are. */
export type Stated<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

/** Values by column; undefined: stays as it is. */
type Columns = Readonly<Record<string, string | number | undefined>>

export const isStated = (columns: Columns): boolean =>
  Object.values(columns).some((value) => value !== undefined)

/** @param table with one row for each `client_id` */
export function updateStated(table: string, clientId: string, columns: Columns): Statement {
  const stated = Object.entries(columns).filter(
    (each): each is [string, string | number] => each[1] !== undefined,
  )
  const sets = ['client_id = client_id', ...stated.map(([column]) => `${column} = ?`)]
  return {
    sql: `UPDATE ${table} SET ${sets.join(', ')} WHERE client_id = ?`,
    values: [...stated.map(([, value]) => value), clientId],
  }
}

/** @param insert `INSERT … SELECT` of a row of a project; it inserts none for a project that was removed meanwhile */
export function ifProjectExists(clientId: string, insert: Statement): Statement {
  const exists = sql` WHERE EXISTS (SELECT 1 FROM projects WHERE client_id = ${clientId})`
  return { sql: insert.sql + exists.sql, values: [...insert.values, ...exists.values] }
}

/** What is stated replaces what was. */
export const withStated = <T extends object>(before: T, change: Stated<NoInfer<T>>): T => ({
  ...before,
  ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
})
