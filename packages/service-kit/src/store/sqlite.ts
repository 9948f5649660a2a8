/** The embedded SQL store: SQLite in a worker thread, so that no fsync ever stands on the event loop. */
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
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
  return code === 'NEWER_VERSION' || (errcode !== undefined && damaged.has(errcode))
}

/**
 * @param path file of the database
 * @throws StoreError when it can't be opened, is damaged or of a newer version
 */
export async function openSqlite(path: string, migrations: Migrations): Promise<SqlStore> {
  makeFolder(dirname(path))
  const worker = new Worker(workerUrl, {
    workerData: { path, migrations } satisfies WorkerSettings,
    execArgv: [],
  })
  const pending = new Map<number, { resolve: (rows: Row[][]) => void; reject: (cause: Error) => void }>()
  let last = 0
  let failed: StoreError | undefined

  await new Promise<void>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', (cause) =>
      reject(
        new StoreError(`can't open the database ${path}: ${(cause as Error).message}`, {
          cause,
          isUnrepairable: isUnrepairable(cause),
        }),
      ),
    )
  })
  worker.on('error', (cause) => {
    failed = new StoreError(`the database ${path} failed: ${(cause as Error).message}`, { cause })
    for (const each of pending.values()) each.reject(failed)
    pending.clear()
  })
  worker.on('message', (results: readonly JobResult[]) => {
    for (const result of results) {
      const job = pending.get(result.id)
      pending.delete(result.id)
      if ('rows' in result) job?.resolve(result.rows)
      else job?.reject(new StoreError(`database: ${result.error}`, { cause: { code: result.code } }))
    }
  })

  function transaction(statements: readonly Statement[]): Promise<Row[][]> {
    if (failed) return Promise.reject(failed)
    return new Promise((resolve, reject) => {
      const id = ++last
      pending.set(id, { resolve, reject })
      worker.postMessage({ id, statements } satisfies Job)
    })
  }

  return {
    run: async <R extends Row>(statement: Statement) => (await transaction([statement]))[0] as R[],
    transaction,
    isShared: false,
    wakeOthers: async () => undefined,
    onWake: () => undefined,
    async close() {
      const ended = new Promise((resolve) => worker.once('exit', resolve))
      worker.postMessage('close')
      await ended
    },
  }
}
