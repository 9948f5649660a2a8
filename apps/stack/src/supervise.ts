/** Keeps one program running: starts it again when it ends, with growing pauses, until that is no use. */
import { type Child, ChildFailure, exitCodes } from '@selvedge/service-kit/lifecycle'

/** Failures within so many milliseconds after which a program is not started again. */
const giveUp = { failures: 5, withinMs: 60_000 }
/** Milliseconds until the first restart; doubled with each failure of the last minute. */
const firstPauseMs = 250

export interface Supervised {
  /** The program as it is now: undefined while it is down. */
  child(): Child | undefined
  /** Ends the program and starts it no more. */
  stop(): Promise<void>
}

export interface SuperviseParts {
  readonly name: string
  /** Starts it once more, on the port that it had. */
  readonly restart: (port: string, stopped: AbortSignal) => Promise<Child>
  /** Called with one sentence for a person. */
  readonly say: (sentence: string) => void
  /** Called when it runs again. */
  readonly onRestarted: (child: Child) => void
  /** Milliseconds that only go forward. */
  readonly now: () => number
}

/** @param first the program, which runs */
export function supervise(
  first: Child,
  { name, restart, say, onRestarted, now }: SuperviseParts,
): Supervised {
  const port = portOf(first.url)
  const stopping = new AbortController()
  const { signal: stopped } = stopping
  let failures: number[] = []
  let child: Child | undefined = first

  async function keepRunning(): Promise<void> {
    let ending = await first.ended
    for (;;) {
      child = undefined
      if (stopped.aborted) return
      failures = [...failures.filter((at) => now() - at < giveUp.withinMs), now()]
      if (ending.code === exitCodes.unrepairable)
        return say(
          `${name} ended: its last log line names what to repair. It is not started again; the others continue`,
        )
      if (failures.length >= giveUp.failures)
        return say(
          `${name} ended ${ending.how}, for the ${failures.length}th time within a minute. It is not started again; the others continue. Its last log lines contain the reason`,
        )
      const pause = firstPauseMs * 2 ** (failures.length - 1)
      say(`${name} ended ${ending.how}; it is started again in ${pause / 1000} s`)
      await wait(pause, stopped)
      if (stopped.aborted) return
      try {
        child = await restart(port, stopped)
        onRestarted(child)
        ending = await child.ended
      } catch (cause) {
        // Without a process or a descriptor left it cannot even be started.
        ending =
          cause instanceof ChildFailure
            ? cause.ending
            : { code: null, how: `with ${(cause as Error).message}` }
      }
    }
  }
  const done = keepRunning()

  return {
    child: () => child,
    async stop() {
      stopping.abort()
      await child?.stop()
      await done
    },
  }
}

/** A URL leaves out the port that its scheme has by default. */
function portOf(url: string): string {
  const { port, protocol } = new URL(url)
  return port || (protocol === 'https:' ? '443' : '80')
}

function wait(milliseconds: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    stopped.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
