/** Follows the log of a service for as long as `dev` runs: over restarts of the runtime, and with a new token when one expires. */
import { setTimeout as sleep } from 'node:timers/promises'
import { followLogs } from '@selvedge/client/node'
import type { LogLine } from '@selvedge/protocol'
import type { Context } from '../context/context.ts'
import { describeFailure } from '../failure.ts'
import type { Tokens } from './deploy.ts'

const retryMs = 500
/** Earlier lines that are shown at the start. */
const tail = 20

/** Resolves when the signal is aborted. @param onLost called once each time that the log cannot be followed */
export async function followLog(
  context: Context,
  tokens: Tokens,
  id: string,
  signal: AbortSignal,
  onLine: (line: LogLine) => void,
  onLost: (why: string) => void,
): Promise<void> {
  const lines = createUnseen(onLine)
  let isLost = false
  while (!signal.aborted) {
    try {
      await tokens.use(async (token) => {
        const since = lines.since()
        const from = since === undefined ? { tail } : { since }
        await followLogs(await context.streams(token), id, { ...from, signal }, (line) => {
          isLost = false
          lines.show(line)
        })
      })
    } catch (cause) {
      if (!signal.aborted && !isLost) onLost(describeFailure(cause).message)
      isLost = true
    }
    lines.restart()
    await sleep(retryMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Drops lines that were shown before the connection was made again: the runtime sends all of the last millisecond. */
function createUnseen(onLine: (line: LogLine) => void) {
  let last: string | undefined
  let shown = 0
  let toSkip = 0
  return {
    since: () => last,
    restart() {
      toSkip = shown
    },
    show(line: LogLine) {
      if (line.time !== last) {
        last = line.time
        shown = 0
        toSkip = 0
      } else if (toSkip > 0) {
        toSkip--
        return
      }
      shown++
      onLine(line)
    },
  }
}
