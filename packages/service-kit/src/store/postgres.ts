/** The SQL store of many machines: PostgreSQL, with the same statements as SQLite. */
import postgres from 'postgres'
import { safely } from '../safely/safely.ts'
import { type Migrations, newerVersion, type Row, type SqlStore, type Statement } from './sql.ts'
import { StoreError } from './store-error.ts'

/** Channel on which replicas wake each other. */
const channel = 'selvedge'
/** Name of the lock under which the tables are made: any number that nobody else takes. */
const migrationLock = 7_356_435_343
/** How often a transaction is tried that lost against another one (deadlock, serialization failure). */
const attempts = 8
const lostRace = new Set(['40001', '40P01'])

/**
 * @param url `postgres://user:password@host:port/database`; its query may carry what libpq knows, such as `sslmode`
 * @throws StoreError when it can't be reached or is of a newer version
 */
export async function openPostgres(url: string, migrations: Migrations): Promise<SqlStore> {
  const where = withoutPassword(url)
  const database = postgres(url, {
    max: 10,
    connect_timeout: 10,
    onnotice: () => undefined,
    // Times and counters are BIGINT and stay below 2^53.
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  })
  const listeners = new Set<() => void>()

  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await work()
      } catch (cause) {
        const { code, message } = cause as { code?: string; message: string }
        if (code !== undefined && lostRace.has(code) && tries < attempts) {
          // A random pause, so that the same two do not meet again at once.
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 25 * tries))
          continue
        }
        const full = code === '53100' ? 'ENOSPC' : code
        throw new StoreError(`database: ${message}`, { cause: { code: full } })
      }
    }
  }

  const query = (on: postgres.Sql | postgres.TransactionSql, statement: Statement): Promise<Row[]> =>
    on
      .unsafe(toDollars(statement.sql), statement.values as never[], { prepare: true })
      .then((rows) => [...rows] as Row[])

  try {
    await database.begin((tx) => migrate(tx, migrations))
    const wake = () => {
      for (const each of listeners) each()
    }
    await database.listen(channel, safely('postgres.wake', wake))
  } catch (cause) {
    await database.end({ timeout: 1 })
    throw new StoreError(`can't open the database ${where}: ${(cause as Error).message}`, {
      cause,
      isUnrepairable: (cause as NodeJS.ErrnoException).code === 'NEWER_VERSION',
    })
  }

  return {
    run: <R extends Row>(statement: Statement) => attempt(() => query(database, statement)) as Promise<R[]>,
    transaction: (statements) =>
      attempt(() =>
        database.begin((tx) => Promise.all(statements.map((each) => query(tx, each)))),
      ) as Promise<Row[][]>,
    isShared: true,
    async wakeOthers() {
      // A hint only: who misses it looks for itself.
      await database.notify(channel, '').catch(() => undefined)
    },
    onWake: (listener) => void listeners.add(listener),
    close: () => database.end({ timeout: 5 }),
  }
}

/** Brings the tables up to date; of replicas that start together one does it and the others wait. */
async function migrate(tx: postgres.TransactionSql, migrations: Migrations): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(${migrationLock})`
  await tx`CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)`
  const [row] = await tx<{ version: number }[]>`SELECT version FROM schema_version`
  const done = row?.version ?? 0
  if (done > migrations.length) throw newerVersion(done, migrations.length)
  if (done === migrations.length) return
  for (const step of migrations.slice(done)) await tx.unsafe(step)
  if (row) await tx`UPDATE schema_version SET version = ${migrations.length}`
  else await tx`INSERT INTO schema_version VALUES (${migrations.length})`
}

/** `?` as PostgreSQL numbers them. Statements come from templates of ours, so none holds a question mark of another kind. */
function toDollars(text: string): string {
  let count = 0
  return text.replaceAll('?', () => `$${++count}`)
}

function withoutPassword(url: string): string {
  const parsed = URL.parse(url)
  return parsed ? `postgres://${parsed.host}${parsed.pathname}` : 'of this URL'
}
