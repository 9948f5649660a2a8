/** Repeats failed work with exponential back-off and jitter: after 1 s, 2 s, 4 s … 60 s, each shorter by a random part. */
import { reportFailure, safely } from '@selvedge/service-kit/safely'

export interface Retry {
  /** Does the work at once, a planned attempt or not. While it runs: once more after it, since what it saw may be old by then. */
  wake(): void
  /** The same, unless it runs or waits for its next attempt. */
  wakeIfIdle(): void
  stop(): Promise<void>
}

const first = 1000
const longest = 60_000

/**
 * @param where names the work in the log, as `feature.work`
 * @param work resolves with whether it is done; a failure is reported and counts as not done
 */
export function createRetry(where: string, work: () => Promise<boolean>): Retry {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isWanted = false
  let delay = first
  let stopped = false

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
    let done = true
    do {
      isWanted = false
      done = await attempt()
    } while (isWanted && done && !stopped)
    running = undefined
    if (done) delay = first
    else if (!stopped) {
      timer = setTimeout(safely(where, start), delay * (0.5 + Math.random() / 2))
      delay = Math.min(delay * 2, longest)
    }
  }

  function start(): Promise<void> {
    running = run()
    return running
  }

  function wake(): void {
    isWanted = true
    if (running || stopped) return
    clearTimeout(timer)
    safely(where, start)()
  }

  return {
    wake,
    wakeIfIdle() {
      if (!timer && !running) wake()
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
