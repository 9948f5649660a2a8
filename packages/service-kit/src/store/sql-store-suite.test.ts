/** The suite of the SQL storage port; every implementation passes it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { has, needs } from '../../../../tests/harness/installed.ts'
import { type PostgresServer, startPostgres } from '../testing/index.ts'
import { openSql } from './open-sql.ts'
import { type Migrations, type SqlStore, sql } from './sql.ts'
import { storageRefusal } from './storage-refusal.ts'
import { StoreError } from './store-error.ts'

const migrations: Migrations = ['CREATE TABLE things (name TEXT PRIMARY KEY, count BIGINT NOT NULL)']

let server: PostgresServer
let folder: string
let files = 0
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sql-'))
  if (has('postgres')) server = await startPostgres(['fsync=off', 'deadlock_timeout=10ms'])
})
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** URL of an empty database. */
const implementations: Record<string, () => Promise<string>> = {
  sqlite: async () => `sqlite:${join(folder, `${++files}.db`)}`,
  postgres: () => server.createDatabase(),
}

for (const [name, createDatabase] of Object.entries(implementations))
  describe(name, name === 'postgres' ? needs('postgres') : {}, () => {
    let url: string
    let store: SqlStore
    beforeEach(async () => {
      url = await createDatabase()
      store = await openSql(url, migrations)
    })
    afterEach(async () => {
      await store?.close()
    })
    const all = () => store.run(sql`SELECT name, count FROM things ORDER BY name`)

    it('gives back what was put in, after it was opened again', async () => {
      await store.run(sql`INSERT INTO things VALUES (${"it's"}, ${9_007_199_254_740_991})`)
      await store.close()
      store = await openSql(url, migrations)
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

    it('runs the statements of a transaction in their order, each seeing what the former did', async () => {
      const [, , rows] = await store.transaction([
        sql`INSERT INTO things VALUES ('a', 1)`,
        sql`UPDATE things SET count = count + 1 WHERE name = 'a'`,
        sql`SELECT count FROM things`,
      ])
      expect(rows).toEqual([{ count: 2 }])
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
          store.run(
            sql`UPDATE things SET count = ${at + 1} WHERE name = 'code' AND count = 0 RETURNING count`,
          ),
        ),
      )
      expect(tries.filter((rows) => rows.length === 1)).toHaveLength(1)
    })

    it('does not lose a transaction to another one that locks the same rows in the opposite order', async () => {
      await store.transaction(['a', 'b'].map((each) => sql`INSERT INTO things VALUES (${each}, 0)`))
      const add = (which: string) => sql`UPDATE things SET count = count + 1 WHERE name = ${which}`
      await Promise.all(
        Array.from({ length: 16 }, (__, at) =>
          store.transaction(at % 2 ? [add('a'), add('b')] : [add('b'), add('a')]),
        ),
      )
      expect(await all()).toEqual([
        { name: 'a', count: 16 },
        { name: 'b', count: 16 },
      ])
    })

    it('runs statements of ever new texts in bounded memory', async () => {
      const text = 'x'.repeat(40_000)
      const run = async (from: number) => {
        for (let at = from; at < from + 3000; at += 100)
          await store.transaction(
            Array.from({ length: 100 }, (_, index) => ({
              sql: `SELECT ${at + index} AS found /* ${text} */`,
              values: [],
            })),
          )
      }
      await run(0)
      const before = residentBytes()
      await run(3000)
      await run(6000)
      // 240 MB of text: 538 MB more where each statement stays prepared. The thread of the database has garbage of its own.
      expect(residentBytes() - before).toBeLessThan(350_000_000)
    })

    it('runs each migration once, and refuses a database that is newer than the program', async () => {
      await store.run(sql`INSERT INTO things VALUES ('a', 1)`)
      await store.close()
      store = await openSql(url, [...migrations, 'ALTER TABLE things ADD COLUMN extra TEXT'])
      expect(await store.run(sql`SELECT * FROM things`)).toEqual([{ name: 'a', count: 1, extra: null }])
      await expect(openSql(url, migrations)).rejects.toThrow('it is of version 2; this program knows 1')
    })

    it('makes an added table once, which the version before leaves alone', async () => {
      const table = 'CREATE TABLE extras (name TEXT PRIMARY KEY); INSERT INTO extras SELECT name FROM things'
      const added = { table: 'extras', sqlite: table, postgres: table }
      await store.run(sql`INSERT INTO things VALUES ('a', 1)`)
      for (const known of [[...migrations, added], migrations, [...migrations, added]]) {
        await store.close()
        store = await openSql(url, known)
        expect(await store.run(sql`SELECT * FROM extras`)).toEqual([{ name: 'a' }])
      }
      await store.close()
      const broken = {
        table: 'others',
        sqlite: 'CREATE TABLE others (x TEXT); nonsense',
        postgres: 'nonsense',
      }
      await expect(openSql(url, [...migrations, broken])).rejects.toThrow(/nonsense/)
      store = await openSql(url, migrations)
      await expect(store.run(sql`SELECT * FROM others`)).rejects.toThrow()
    })
  })

/** After a collection of garbage. */
function residentBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage.rss()
}

it('sqlite: a file that is damaged is not opened', async () => {
  const path = join(folder, 'damaged.db')
  writeFileSync(path, 'this is no database, and long enough to be looked at as one'.repeat(20))
  await expect(openSql(`sqlite:${path}`, migrations)).rejects.toThrow(/can't open the database/)
})

it('postgres: a server that is not there is named, without the password', async () => {
  const failing = openSql('postgres://user:secret@127.0.0.1:1/none', migrations)
  await expect(failing).rejects.toThrow("can't open the database postgres://127.0.0.1:1/none")
  await expect(failing).rejects.not.toThrow('secret')
})

it('a URL of another kind is refused, with the two that are known', async () => {
  await expect(openSql('mysql://x', migrations)).rejects.toThrow('neither sqlite:<file> nor postgres://')
})

describe('postgres, opened by several', needs('postgres'), () => {
  it('makes its tables once when many start at the same time', async () => {
    const url = await server.createDatabase()
    const stores = await Promise.all(Array.from({ length: 8 }, () => openSql(url, migrations)))
    await stores[0]!.run(sql`INSERT INTO things VALUES ('a', 1)`)
    expect(await stores[7]!.run(sql`SELECT name FROM things`)).toEqual([{ name: 'a' }])
    await Promise.all(stores.map((each) => each.close()))
  })

  it('wakes the others', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await openSql(url, migrations), await openSql(url, migrations)]
    const woken = new Promise<void>((resolve) => other.onWake(resolve))
    await one.wakeOthers()
    await woken
    await Promise.all([one.close(), other.close()])
  })
})

describe('postgres, when its connections end', needs('postgres'), () => {
  it('rejects what is under way, loses no acknowledged write, and continues; no rejection is unhandled', async () => {
    const url = await server.createDatabase()
    const store = await openSql(url, ['CREATE TABLE t (id INTEGER PRIMARY KEY)'])
    let woken = 0
    store.onWake(() => woken++)
    const unhandled: unknown[] = []
    const note = (cause: unknown) => unhandled.push(cause)
    for (const event of ['unhandledRejection', 'uncaughtException'] as const) process.on(event, note)
    const acknowledged: number[] = []
    let next = 0
    let refused = 0
    let isOver = false
    const write = async (isTransaction: boolean) => {
      while (!isOver) {
        const id = ++next
        const statement = sql`INSERT INTO t VALUES (${id})`
        const done = isTransaction ? store.transaction([statement, sql`SELECT 1`]) : store.run(statement)
        await done.then(
          () => acknowledged.push(id),
          (cause) => {
            expect(cause).toBeInstanceOf(StoreError)
            refused++
          },
        )
      }
    }
    const writers = Array.from({ length: 8 }, (_, index) => write(index % 2 === 0))
    for (let round = 0; round < 30; round++) {
      const before = acknowledged.length
      await vi.waitUntil(() => acknowledged.length > before + 20, { timeout: 120_000, interval: 5 })
      expect(await server.endConnections(url)).toBeGreaterThan(0)
    }
    isOver = true
    await Promise.all(writers)
    const stored = new Set((await store.run(sql`SELECT id FROM t`)).map(({ id }) => id))
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
    expect(refused).toBeGreaterThan(0)
    const before = woken
    await vi.waitUntil(
      async () => {
        await store.wakeOthers()
        return woken > before
      },
      { timeout: 120_000, interval: 100 },
    )
    await store.close()
    for (const event of ['unhandledRejection', 'uncaughtException'] as const) process.off(event, note)
    expect(unhandled).toEqual([])
    console.info(
      `30 ends of all connections: ${acknowledged.length} acknowledged and stored, ${refused} refused`,
    )
  })
})

describe('postgres, behind a network that fails', needs('postgres'), () => {
  /** A relay to the database with connections that the test can watch and cut. */
  async function relayTo(url: string, onData: (data: Buffer, from: Socket, pass: () => void) => void) {
    const { port } = new URL(url)
    const open = new Set<Socket>()
    const relay = createServer((from) => {
      const to = createConnection(Number(port), '127.0.0.1')
      open.add(from)
      from.on('close', () => open.delete(from) && to.destroy())
      to.on('close', () => from.destroy())
      for (const each of [from, to]) each.on('error', () => undefined)
      from.on('data', (data) => onData(data, from, () => to.write(data)))
      to.pipe(from)
    })
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
    const own = new URL(url)
    own.port = String((relay.address() as AddressInfo).port)
    own.hostname = '127.0.0.1'
    return {
      url: own,
      open,
      async stop() {
        for (const each of open) each.destroy()
        await new Promise((resolve) => relay.close(resolve))
      },
    }
  }

  const refusal = Buffer.from('SERROR\0C25006\0Mcannot execute LISTEN during recovery\0\0')
  const refused = Buffer.concat([
    Buffer.from([69, 0, 0, 0, refusal.length + 4]),
    refusal,
    Buffer.from([90, 0, 0, 0, 5, 73]),
  ])

  it.each([
    ['closes the connection', (from: Socket) => from.destroy()],
    ['refuses it, as a standby does', (from: Socket) => from.write(refused)],
  ])('has one connection that listens, however often it tries, while the server %s', async (_, answer) => {
    const listening: Socket[] = []
    let isRefused = false
    let most = 0
    const relay = await relayTo(await server.createDatabase(), (data, from, pass) => {
      if (!data.includes('LISTEN')) return pass()
      listening.push(from)
      most = Math.max(most, listening.filter((each) => relay.open.has(each)).length)
      return isRefused ? answer(from) : pass()
    })
    const store = await openSql(relay.url.href, migrations)
    isRefused = true
    listening[0]!.destroy()
    await vi.waitUntil(() => listening.length > 6, { timeout: 120_000, interval: 20 })
    expect(most).toBe(1)
    await store.close()
    await relay.stop()
  })

  it('rejects a statement without an answer, and continues with another connection', async () => {
    let isSilent = false
    const silent = new Set<Socket>()
    const relay = await relayTo(await server.createDatabase(), (_, from, pass) => {
      if (isSilent) silent.add(from)
      if (!silent.has(from)) pass()
    })
    const store = await openSql(relay.url.href, migrations)
    for (const run of [
      () => store.run(sql`SELECT 2`),
      () => store.transaction([sql`SELECT 3`, sql`SELECT 4`]),
    ]) {
      await store.run(sql`SELECT 1`)
      isSilent = true
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const lost = run().then(
        () => 'answered',
        (cause) => cause,
      )
      const before = silent.size
      while (silent.size === before) await new Promise((resolve) => setImmediate(resolve))
      isSilent = false
      vi.advanceTimersByTime(30_000)
      vi.useRealTimers()
      expect(await lost).toBeInstanceOf(StoreError)
      expect(storageRefusal(await lost)?.reason).toBe('storage_failed')
    }
    expect(await store.run(sql`SELECT name FROM things`)).toEqual([])
    await store.close()
    await relay.stop()
  })
})

describe('postgres, when a statement fails', () => {
  it('distinguishes a closed connection from a wrong statement', needs('postgres'), async () => {
    const url = await server.createDatabase()
    const store = await openSql(url, migrations)
    const failureOf = (text: string) => store.run({ sql: text, values: [] }).catch((cause: unknown) => cause)
    const closed = failureOf('SELECT pg_terminate_backend(pg_backend_pid())')
    expect(storageRefusal(await closed)?.reason).toBe('storage_failed')
    const wrong = await failureOf('SELECT nothing FROM things')
    expect(wrong).toBeInstanceOf(StoreError)
    expect(storageRefusal(wrong)).toBeUndefined()
    await store.close()
  })
})

describe('postgres, when its client does not wait any more', () => {
  it('ends the statement and the transaction itself', needs('postgres'), async () => {
    const store = await openSql(await server.createDatabase(), migrations)
    const limits = ['statement_timeout', 'idle_in_transaction_session_timeout']
    const shown = await store.transaction(limits.map((name) => ({ sql: `SHOW ${name}`, values: [] })))
    expect(shown.map(([row], at) => row![limits[at]!])).toEqual(['30s', '30s'])
    await store.close()
  })
})

describe('sqlite, when its thread exits', () => {
  it('rejects what is under way, opens the database again with the next call, and closes', async () => {
    const threads: Worker[] = []
    const collect = (thread: Worker) => void threads.push(thread)
    process.on('worker', collect)
    const store = await openSql(`sqlite:${join(folder, 'thread.db')}`, [
      'CREATE TABLE t (id INTEGER PRIMARY KEY)',
    ])
    await store.run(sql`INSERT INTO t VALUES (1)`)
    const ending = threads[0]!.terminate()
    await expect(store.run(sql`SELECT id FROM t`)).rejects.toThrow(StoreError)
    await ending
    expect(await store.run(sql`SELECT id FROM t`)).toEqual([{ id: 1 }])
    expect(threads).toHaveLength(2)
    await threads[1]!.terminate()
    // Without its thread it closes as well.
    await store.close()
    await expect(store.run(sql`SELECT id FROM t`)).rejects.toThrow('is closed')
    process.off('worker', collect)
  })
})

describe('sqlite, with more work than fits into one commit', () => {
  it('does it in the order in which it came, at most 500 transactions at a time, and all before it closes', async () => {
    const commits: number[] = []
    const listen = (thread: Worker) =>
      thread.on('message', (results) => Array.isArray(results) && commits.push(results.length))
    process.on('worker', listen)
    const url = `sqlite:${join(folder, 'order.db')}`
    const creates = ['CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, sent BIGINT)']
    const store = await openSql(url, creates)
    const sent = Array.from({ length: 1201 }, (_, at) => at)
    const insert = (at: number) => store.run(sql`INSERT INTO t (sent) VALUES (${at})`)
    const settled = Promise.all(sent.map(insert))
    await expect(store.run(sql`SELECT MAX(sent) AS newest FROM t`)).resolves.toEqual([{ newest: 1200 }])
    await settled
    expect(Math.max(...commits)).toBe(500)
    const last = Promise.all(sent.map(insert))
    await Promise.all([store.close(), last])
    process.off('worker', listen)
    const again = await openSql(url, creates)
    const rows = await again.run(sql`SELECT sent FROM t ORDER BY id`)
    expect(rows.map((row) => row.sent)).toEqual([...sent, ...sent])
    await again.close()
  })
})
