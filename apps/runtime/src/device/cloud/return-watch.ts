/**
 * Notices that services can be reached again. Packets that are dropped without a word give no signal, so it checks: with one connection
 * each few seconds, while work lasts long or has failed, and the services are away. Where they can be reached and the work fails all the
 * same, they are overloaded or refuse it: then one check is enough, and only the pauses of the work count.
 */
import { inBackground } from '@selvedge/service-kit/safely'

/** How work notices that the services that it needs are away. */
export interface Away {
  /** Whether they can be reached now. Resolves within seconds; never rejects. */
  reaches(): Promise<boolean>
  /** Called when they can be reached again, after they were away: a request on a connection from before may wait for long. */
  onReturn?(): void
  /** Called when the work lasts long, and they can be reached: its connection may be of a network that this device has left. */
  onThere?(): void
}

export interface ReturnWatch {
  /** To be called when the work begins. */
  watch(): void
  /** It checks no more. */
  stop(): void
  /** To be called after a success of the work. */
  forget(): void
}

/** Milliseconds between two checks, each shorter by a random part of up to a half. */
const checkEveryMs = 4000
/**
 * Milliseconds in which devices begin, each at a random moment, after they have noticed that the services are back: a service that
 * restarts refuses each check at once, so that all devices would notice it within two checks.
 */
const spreadMs = 3000

/** Resolves after a time, or when it is cancelled. */
const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    const cancel = () => {
      clearTimeout(timer)
      resolve()
    }
    signal.addEventListener('abort', cancel, { once: true })
  })

/** @param onReturn called when services that were away can be reached @param onThere called when they were not away */
export function createReturnWatch(
  where: string,
  away: Pick<Away, 'reaches'> | undefined,
  onReturn: () => void,
  onThere: () => void = () => undefined,
): ReturnWatch {
  let checking: AbortController | undefined
  let isAway = false

  async function check({ reaches }: Pick<Away, 'reaches'>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(checkEveryMs * (0.5 + Math.random() / 2), signal)
      if (signal.aborted) return
      const isThere = await reaches()
      if (signal.aborted) return
      if (!isThere) isAway = true
      else if (!isAway) return onThere()
      else {
        await pause(spreadMs * Math.random(), signal)
        if (signal.aborted) return
        isAway = false
        return onReturn()
      }
    }
  }

  function stop(): void {
    checking?.abort()
    checking = undefined
  }

  return {
    watch() {
      stop()
      if (!away) return
      const own = new AbortController()
      checking = own
      inBackground(where, check(away, own.signal))
    },
    stop,
    forget() {
      stop()
      isAway = false
    },
  }
}
