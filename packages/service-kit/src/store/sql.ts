/**
 * The storage port of the services: SQL statements that both SQLite and PostgreSQL understand, with `?` for values. One
 * statement, or several that succeed or fail together; nothing is acknowledged before it is on the disk.
 */
export type SqlValue = string | number | null | Uint8Array
export type Row = Readonly<Record<string, SqlValue>>

export interface Statement {
  readonly sql: string
  readonly values: readonly SqlValue[]
  /** Milliseconds for the answer of a database elsewhere; absent: 30 s. */
  readonly timeoutMs?: number
}

/** A statement from a template: `sql\`SELECT * FROM nodes WHERE node_id = ${id}\``. */
export const sql = (text: TemplateStringsArray, ...values: SqlValue[]): Statement => ({
  sql: text.join('?'),
  values,
})

export interface SqlStore {
  /** Runs one statement and gives its rows. @throws StoreError */
  run<R extends Row = Row>(statement: Statement): Promise<R[]>
  /** Runs statements in one transaction. @throws StoreError; then no statement has an effect */
  transaction(statements: readonly Statement[]): Promise<Row[][]>
  /** The database's own time, Unix milliseconds; absent where that is this machine's. @throws StoreError */
  readTime?(timeoutMs: number): Promise<number>
  /** Whether other processes may have the same database open. */
  readonly isShared: boolean
  /** Wakes the others that have the database open. A hint that can get lost: they look from time to time as well. */
  wakeOthers(): Promise<void>
  onWake(listener: () => void): void
  close(): Promise<void>
}

/**
 * A table with its indexes and triggers that the version before does not know. It is created if it is missing, and does not count as
 * a migration: the version before still opens the database, and its replicas continue beside newer ones.
 */
export interface AddedTable {
  readonly table: string
  readonly sqlite: string
  readonly postgres: string
}

/** What makes the tables, oldest first: steps, and added tables. What was released is never changed; new ones are added. */
export type Migrations = readonly (string | AddedTable)[]

/** The steps. Their number is the version of a database. */
export const stepsOf = (migrations: Migrations): string[] =>
  migrations.filter((each) => typeof each === 'string')

/** The tables that are made after the steps, where they are missing. */
export const addedTablesOf = (migrations: Migrations): AddedTable[] =>
  migrations.filter((each) => typeof each !== 'string')

/** The refusal of a database that a newer program has used. */
export const newerVersion = (found: number, known: number): Error =>
  Object.assign(
    new Error(
      `it is of version ${found}; this program knows ${known}. Start the newer program again, or restore a backup`,
    ),
    { code: 'NEWER_VERSION' },
  )
