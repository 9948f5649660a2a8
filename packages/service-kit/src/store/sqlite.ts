/** The embedded SQL store: SQLite in a worker thread, so that no fsync blocks the event loop. */
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { safely } from '../safely/safely.ts'
import { makeFolder } from './make-folder.ts'
import type { Migrations, Row, SqlStore, Statement } from './sql.ts'
import { StoreError } from './store-error.ts'

export interface Job {
  readonly id: number
  readonly statements: readonly Statement[]
}

export type JobResult =
  | { readonly id: number; readonly rows: Row[][] }
  | { readonly id: number; readonly error: string; readonly code: string | undefined }

/** What the worker is started with. */
export interface WorkerSettings {
  readonly path: string
  readonly migrations: Migrations
}

const workerUrl = new URL(
  import.meta.url.endsWith('.ts') ? './platform/sqlite-worker.ts' : './sqlite-worker.cjs',
  import.meta.url,
)

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const damaged = new Set([11, 26])

const isUnrepairable = (cause: unknown): boolean => {
  const { code, errcode } = cause as { code?: string; errcode?: number }
  return code === 'NEWER_VERSION' || code === 'DAMAGED' || (errcode !== undefined && damaged.has(errcode))
}

/** The thread that has the database open, until it ends. */
interface Connection {
  /** The reason of its exit; undefined while it is open. */
  ended(): StoreError | undefined
  transaction(statements: readonly Statement[]): Promise<Row[][]>
  close(): Promise<void>
}

/** Milliseconds after a failed attempt to open the database again in which no other attempt is made. */
const reopenPauseMs = 1000

/**
 * Opens a database. Its thread may end (out of memory, an error of the disk): calls under way are rejected then, and the next
 * call opens the database again.
 *
 * @param path file of the database
 * @throws StoreError when it can't be opened, is damaged or of a newer version
 */
export async function openSqlite(path: string, migrations: Migrations): Promise<SqlStore> {
  makeFolder(dirname(path))
  let connection = await connect(path, migrations)
  let reopening: Promise<Connection> | undefined
  let isClosed = false

  function reopen(): Promise<Connection> {
    reopening ??= connect(path, migrations).then(
      (opened) => {
        connection = opened
        reopening = undefined
        return opened
      },
      async (cause) => {
        await sleep(reopenPauseMs)
        reopening = undefined
        throw cause
      },
    )
    return reopening
  }

  async function transaction(statements: readonly Statement[]): Promise<Row[][]> {
    if (isClosed) throw new StoreError(`the database ${path} is closed`)
    const open = connection.ended() ? await reopen() : connection
    return open.transaction(statements)
  }

  return {
    run: async <R extends Row>(statement: Statement) => (await transaction([statement]))[0] as R[],
    transaction,
    isShared: false,
    wakeOthers: async () => undefined,
    onWake: () => undefined,
    async close() {
      isClosed = true
      await reopening?.catch(() => undefined)
      await connection.close()
    },
  }
}

/** Maximum jobs in one message, and so in one commit: limits how long the first of them waits. */
const maxJobs = 500

/**
 * Sends jobs to the thread: while it works on some, those that come wait, and travel together. It would not begin them earlier,
 * and each message wakes a thread, which costs more than a read.
 */
function createSender(worker: Worker, onFailure: (jobs: readonly Job[], cause: unknown) => void) {
  let waiting: Job[] = []
  let isBusy = false

  function send(): void {
    if (isBusy || waiting.length === 0) return
    isBusy = true
    const jobs = waiting.splice(0, maxJobs)
    try {
      worker.postMessage(jobs)
    } catch (cause) {
      isBusy = false
      onFailure(jobs, cause)
      sendSoon()
    }
  }
  // After what the loop has to read: requests that came together are one message, too.
  const sendSoon = () => {
    setImmediate(safely('sqlite.send', send))
  }
  return {
    accept(job: Job): void {
      waiting.push(job)
      if (!isBusy && waiting.length === 1) sendSoon()
    },
    answered(): void {
      isBusy = false
      sendSoon()
    },
    close(): void {
      if (waiting.length > 0) worker.postMessage(waiting)
      waiting = []
      worker.postMessage('close')
    },
  }
}

interface PendingJob {
  readonly resolve: (rows: Row[][]) => void
  readonly reject: (cause: Error) => void
}

async function connect(path: string, migrations: Migrations): Promise<Connection> {
  const worker = new Worker(workerUrl, {
    workerData: { path, migrations } satisfies WorkerSettings,
    execArgv: [],
  })
  const pending = new Map<number, PendingJob>()
  const gone = Promise.withResolvers<void>()
  let last = 0
  let ended: StoreError | undefined

  const end = (why: string, cause?: unknown) => {
    ended ??= new StoreError(`the database ${path} failed: ${why}`, { cause })
    for (const each of pending.values()) each.reject(ended)
    pending.clear()
  }
  const sender = createSender(worker, (jobs, cause) => {
    const failure = new StoreError(`database: ${(cause as Error).message}`, { cause })
    for (const { id } of jobs) {
      pending.get(id)?.reject(failure)
      pending.delete(id)
    }
  })
  const read = (results: readonly JobResult[]) => {
    sender.answered()
    for (const result of results) {
      const job = pending.get(result.id)
      pending.delete(result.id)
      if ('rows' in result) job?.resolve(result.rows)
      else job?.reject(new StoreError(`database: ${result.error}`, { cause: { code: result.code } }))
    }
  }
  await new Promise<void>((resolve, reject) => {
    const refuse = (cause: unknown) =>
      reject(
        new StoreError(`can't open the database ${path}: ${(cause as Error).message}`, {
          cause,
          isUnrepairable: isUnrepairable(cause),
        }),
      )
    worker.once('message', () => resolve())
    worker.once('error', safely('sqlite.open', refuse))
    worker.once('exit', (code) =>
      reject(new StoreError(`can't open the database: its thread ended with ${code}`)),
    )
  })
  worker.on(
    'error',
    safely('sqlite.error', (cause) => end((cause as Error).message, cause)),
  )
  worker.on(
    'messageerror',
    safely('sqlite.message', (cause) => end(cause.message, cause)),
  )
  worker.on(
    'message',
    safely('sqlite.message', read, (cause) => end('its thread sent something else', cause)),
  )
  worker.on(
    'exit',
    safely('sqlite.exit', (code) => {
      end(`its thread ended with ${code}`)
      gone.resolve()
    }),
  )

  return {
    ended: () => ended,
    transaction(statements) {
      return new Promise((resolve, reject) => {
        if (ended) return reject(ended)
        const id = ++last
        pending.set(id, { resolve, reject })
        sender.accept({ id, statements })
      })
    },
    async close() {
      sender.close()
      await gone.promise
    },
  }
}
