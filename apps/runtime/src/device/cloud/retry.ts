/**
 * Repeats failed work with exponential back-off and jitter: after 1 s, 2 s, 4 s … 60 s, each shorter by a random part. Where the network
 * is away, the work is done again soon after it is back, whatever the pause has grown to.
 */
import { reportFailure, safely } from '@selvedge/service-kit/safely'
import { type Away, createReturnWatch } from './return-watch.ts'

export interface Retry {
  /** Starts the work at once, even if an attempt is planned. While it runs: starts it once more after that, for what changed since. */
  wake(): void
  /** Starts the work, unless it runs or waits for its next attempt. */
  wakeIfIdle(): void
  stop(): Promise<void>
}

const firstDelayMs = 1000
const maxDelayMs = 60_000

/**
 * @param where names the work in the log, as `feature.work`
 * @param work resolves with whether it is done; a failure is reported and counts as not done
 * @param away whether the services that the work needs can be reached; absent: only the pauses count
 */
export function createRetry(where: string, work: () => Promise<boolean>, away?: Away): Retry {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isWanted = false
  let hasReturned = false
  let delayMs = firstDelayMs
  let isStopped = false
  const returning = createReturnWatch(
    `${where}.return`,
    away,
    () => {
      delayMs = firstDelayMs
      hasReturned = true
      away?.onReturn?.()
      wake()
    },
    () => {
      if (running) away?.onThere?.()
    },
  )

  async function attempt(): Promise<boolean> {
    try {
      return await work()
    } catch (cause) {
      reportFailure(where, cause)
      return false
    }
  }

  async function run(): Promise<void> {
    timer = undefined
    let done: boolean
    do {
      isWanted = false
      hasReturned = false
      returning.watch()
      done = await attempt()
    } while (!isStopped && isWanted && (done || hasReturned))
    running = undefined
    if (done) {
      delayMs = firstDelayMs
      returning.forget()
    } else if (!isStopped) {
      timer = setTimeout(safely(where, start), delayMs * (0.5 + Math.random() / 2))
      delayMs = Math.min(delayMs * 2, maxDelayMs)
    }
  }

  function start(): Promise<void> {
    running = run()
    return running
  }

  function wake(): void {
    isWanted = true
    if (running || isStopped) return
    clearTimeout(timer)
    safely(where, start)()
  }

  return {
    wake,
    wakeIfIdle() {
      if (!timer && !running) wake()
    },
    async stop() {
      isStopped = true
      returning.stop()
      clearTimeout(timer)
      await running
    },
  }
}
