/** A pool of Vitest that uses a thread again for the next mutant, where the last run left nothing open in it. */
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { type PoolOptions, type PoolRunnerInitializer, ThreadsPoolWorker } from 'vitest/node'

/** The answer of a thread: how many timers, sockets and requests of a run are still open. */
export interface OpenAnswer {
  readonly open: number
}

/** Runs of one thread: modules of former runs stay in its memory. */
const mostRuns = 200

/** Milliseconds that a thread has to answer. One that is busy is not used again. */
const answerMs = 1000

interface Kept {
  readonly thread: Worker
  readonly runs: number
}

let idle: Kept | undefined

const openIn = (thread: Worker): Promise<number> =>
  new Promise((resolve) => {
    const limit = setTimeout(() => resolve(Number.POSITIVE_INFINITY), answerMs)
    const onMessage = ({ open }: Partial<OpenAnswer>) => {
      if (open === undefined) return
      clearTimeout(limit)
      thread.off('message', onMessage)
      resolve(open)
    }
    thread.on('message', onMessage)
    thread.postMessage({ asksOpen: true })
  })

/** `start` of the class of Vitest uses a thread that is there, and `stop` ends it. */
const threadOf = (worker: unknown) => worker as { _thread: Worker | undefined }

class KeptWorker extends ThreadsPoolWorker {
  override readonly name = 'kept' as 'threads'
  protected override readonly entrypoint: string = join(import.meta.dirname, 'thread.ts')
  private runs = 0

  override async start(): Promise<void> {
    const kept = idle
    idle = undefined
    if (kept) threadOf(this)._thread = kept.thread
    this.runs = (kept?.runs ?? 0) + 1
    await super.start()
  }

  override async stop(): Promise<void> {
    const thread = threadOf(this)._thread!
    if (this.runs >= mostRuns || idle !== undefined || (await openIn(thread)) > 0) return super.stop()
    thread.removeAllListeners('message')
    thread.stdout.unpipe()
    thread.stderr.unpipe()
    threadOf(this)._thread = undefined
    idle = { thread, runs: this.runs }
  }
}

export const keptPool: PoolRunnerInitializer = {
  name: 'kept',
  createPoolWorker: (options: PoolOptions) => new KeptWorker(options),
}
