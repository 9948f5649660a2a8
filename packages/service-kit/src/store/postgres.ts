/** The SQL store of many machines: PostgreSQL, with the same statements as SQLite. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg, {
  type ClientConfig,
  type Client as ClientOf,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
} from 'pg'
import { inBackground, safely } from '../safely/safely.ts'
import {
  addedTablesOf,
  type Migrations,
  newerVersion,
  type Row,
  type SqlStore,
  type Statement,
  stepsOf,
} from './sql.ts'
import { StoreError } from './store-error.ts'

const { Client, DatabaseError, Pool, types } = pg

/** Channel on which replicas wake each other. */
const channel = 'selvedge'
/** Key of the advisory lock that is held while tables are created: any number that no other program uses. */
const migrationLock = 7_356_435_343
/** How often a transaction is tried that lost against another one (deadlock, serialization failure). */
const attempts = 8
const lostRace = new Set(['40001', '40P01'])
/** SQLSTATEs of statements that a transaction did not run because an earlier one failed. */
const inFailedTransaction = '25P02'
/**
 * Milliseconds: for a connection, for the answer to a statement, and between two attempts to listen again. A machine that is
 * cut off ends no connection: without a limit, a statement would wait until the system gives up, a quarter of an hour later.
 */
const times = { connectMs: 10_000, answerMs: 30_000, listenAgainMs: 500 }
/** Maximum named prepared statements; texts come from the templates of this project, so they are few. */
const maxPrepared = 500

const int8 = 20
/** Times and counters are BIGINT and stay below 2^53. */
const typeParsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : (types.getTypeParser(oid, format as 'text') as (text: string) => unknown),
}

/**
 * A connection may end at any time: a restart, a failover, an operator. The statements under way on it are rejected then, and
 * the next ones get another connection.
 *
 * @param url `postgres://user:password@host:port/database`; its query may carry what libpq knows, such as `sslmode`
 * @throws StoreError when it can't be reached, or a newer version wrote it
 */
export async function openPostgres(url: string, migrations: Migrations): Promise<SqlStore> {
  const where = withoutPassword(url)
  const settings = {
    connectionString: url,
    connectionTimeoutMillis: times.connectMs,
    keepAlive: true,
    types: typeParsers,
  }
  // The server ends statements for which no caller waits any more: they would hold locks and a connection.
  const timed = {
    ...settings,
    query_timeout: times.answerMs,
    statement_timeout: times.answerMs,
    idle_in_transaction_session_timeout: times.answerMs,
  }
  const pool = new Pool({ ...timed, max: 10, pipeline: true } as PoolConfig)
  // Both report the end of a connection; without a listener it would be thrown.
  pool.on('error', () => undefined)
  const ignoreEnd = (client: ClientOf) => void client.on('error', () => undefined)
  pool.on('connect', safely('postgres.connect', ignoreEnd))
  const prepare = createPrepare()

  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await work()
      } catch (cause) {
        const { code, message } = cause as { code?: string; message: string }
        if (code !== undefined && lostRace.has(code) && tries < attempts) {
          // A random pause, so that the same two do not meet again at once.
          await sleep(Math.random() * 25 * tries)
          continue
        }
        throw new StoreError(`database: ${message}`, { cause: { code: failureCodeOf(cause) } })
      }
    }
  }

  async function transaction(statements: readonly Statement[]): Promise<Row[][]> {
    const client = await pool.connect()
    try {
      const rows = await inTransaction(client, () => statements.map((each) => client.query(prepare(each))))
      client.release()
      return rows
    } catch (cause) {
      // A refused statement leaves the connection as it was; anything else may not.
      client.release(!(cause instanceof DatabaseError))
      throw cause
    }
  }

  const listeners = new Set<() => void>()
  const wake = () => {
    for (const each of listeners) each()
  }
  let listening: Listening
  try {
    await migrate(settings, migrations)
    listening = await listen(timed, wake)
  } catch (cause) {
    await pool.end()
    throw new StoreError(`can't open the database ${where}: ${(cause as Error).message}`, {
      cause,
      isUnrepairable: (cause as NodeJS.ErrnoException).code === 'NEWER_VERSION',
    })
  }

  return {
    run: <R extends Row>(statement: Statement) =>
      attempt(async () => (await pool.query<R>(prepare(statement))).rows),
    transaction: (statements) => attempt(() => transaction(statements)),
    async readTime(timeoutMs) {
      const text = 'SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT AS now'
      const { rows } = await attempt(() => pool.query({ text, query_timeout: timeoutMs } as QueryConfig))
      return rows[0].now
    },
    isShared: true,
    async wakeOthers() {
      // A hint only: a replica that misses it polls.
      await pool.query('SELECT pg_notify($1, $2)', [channel, '']).catch(() => undefined)
    },
    onWake: (listener) => void listeners.add(listener),
    async close() {
      await listening.stop()
      await pool.end()
    },
  }
}

/** The code of a failed statement. For a closed connection and a response that came too late, pg has no code. */
function failureCodeOf(cause: unknown): string | undefined {
  const { code, name } = cause as { code?: string; name?: string }
  if (code === '53100') return 'ENOSPC'
  return code ?? (name === 'Error' ? 'CONNECTION_FAILED' : undefined)
}

/** Runs statements between BEGIN and COMMIT; all of them travel together. @throws the failure of the first that failed */
async function inTransaction(
  client: PoolClient,
  statements: () => Promise<QueryResult<Row>>[],
): Promise<Row[][]> {
  const all = await Promise.allSettled([client.query('BEGIN'), ...statements(), client.query('COMMIT')])
  const failures = all.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  const [first] = failures.filter(({ code }) => code !== inFailedTransaction)
  if (first ?? failures[0]) throw first ?? failures[0]
  return all.slice(1, -1).map((each) => (each as PromiseFulfilledResult<QueryResult<Row>>).value.rows)
}

/** A statement with a name under which each connection has it prepared. */
function createPrepare(): (statement: Statement) => QueryConfig {
  const names = new Map<string, string>()
  return ({ sql: text, values, timeoutMs }) => {
    let name = names.get(text)
    if (name === undefined && names.size < maxPrepared) names.set(text, (name = `s${names.size}`))
    return {
      text: toDollars(text),
      values: [...values],
      ...(name !== undefined && { name }),
      ...(timeoutMs !== undefined && { query_timeout: timeoutMs }),
    }
  }
}

interface Listening {
  stop(): Promise<void>
}

/** Listens on a separate connection, which is opened again when it ends. @param wake called for every notification */
async function listen(settings: ClientConfig, wake: () => void): Promise<Listening> {
  let client: ClientOf
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  async function open(): Promise<void> {
    client = new Client(settings)
    client.on('error', () => undefined)
    client.on('notification', safely('postgres.wake', wake))
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
    } catch (cause) {
      // A server that refuses to be listened to, as a standby does, keeps the connection.
      inBackground('postgres.refused', client.end())
      throw cause
    }
    client.on('end', safely('postgres.end', again))
    // What was sent in between is lost.
    wake()
  }
  function again(): void {
    if (isStopped) return
    timer = setTimeout(
      safely('postgres.listen', () => open().catch(again)),
      times.listenAgainMs,
    )
    timer.unref()
  }
  await open()
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await client.end().catch(() => undefined)
    },
  }
}

/** Brings the tables up to date, however long it takes; of replicas that start together one does it and the others wait. */
async function migrate(settings: ClientConfig, migrations: Migrations): Promise<void> {
  const client = new Client(settings)
  client.on('error', () => undefined)
  await client.connect()
  try {
    await runMigrations(client, migrations)
  } finally {
    inBackground('postgres.migrated', client.end())
  }
}

async function runMigrations(client: ClientOf, migrations: Migrations): Promise<void> {
  await client.query('BEGIN')
  await client.query(`SELECT pg_advisory_xact_lock(${migrationLock})`)
  await client.query('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)')
  const { rows } = await client.query<{ version: number }>('SELECT version FROM schema_version')
  const done = rows[0]?.version ?? 0
  const steps = stepsOf(migrations)
  if (done > steps.length) throw newerVersion(done, steps.length)
  for (const step of steps.slice(done)) await client.query(step)
  if (!rows[0]) await client.query(`INSERT INTO schema_version VALUES (${steps.length})`)
  else if (done < steps.length) await client.query(`UPDATE schema_version SET version = ${steps.length}`)
  for (const { table, postgres } of addedTablesOf(migrations)) {
    const found = await client.query('SELECT to_regclass($1) IS NOT NULL AS exists', [table])
    if (!found.rows[0].exists) await client.query(postgres)
  }
  await client.query('COMMIT')
}

/** `?` as PostgreSQL numbers them. Statements come from templates of ours, so a question mark is always a parameter. */
function toDollars(text: string): string {
  let count = 0
  return text.replaceAll('?', () => `$${++count}`)
}

function withoutPassword(url: string): string {
  const parsed = URL.parse(url)
  return parsed ? `postgres://${parsed.host}${parsed.pathname}` : 'of this URL'
}
