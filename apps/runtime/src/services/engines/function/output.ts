/** What the program of an instance writes, and how it exited. */
import type { ChildProcess } from 'node:child_process'
import { readLines } from '@selvedge/protocol/lines'
import { reportFailure, safely } from '@selvedge/service-kit/safely'
import type { Plan } from '../engine.ts'
import { createLastOutput } from '../last-output.ts'
import { logLines } from '../log-lines.ts'
import { readPaced } from '../read-paced.ts'

export interface ProgramEnd {
  /** How it exited, with its last output. */
  readonly why: string
  /** Why it could not be started. */
  readonly cause?: Error
  /** Whether its last output reports that its JavaScript heap was full. */
  readonly isHeapFull: boolean
}

/** Passes the program's output to the log of its container. Resolves when the program has exited or could not be started. */
export function awaitEnd(
  child: ChildProcess,
  { log, hideSecrets }: Pick<Plan, 'log' | 'hideSecrets'>,
): Promise<ProgramEnd> {
  const output = createLastOutput(log, hideSecrets)
  const reads = (['stdout', 'stderr'] as const).map(async (name) => {
    const stream = child[name]
    const onLine = (text: string) => output.log(name, text)
    try {
      if (stream) await readLines(logLines, onLine, (take) => readPaced(stream, take))
    } catch (cause) {
      reportFailure('function.output', cause)
      stream?.destroy()
    }
  })
  return new Promise((resolve) => {
    child.on('error', (cause) =>
      resolve({ why: `it could not be started: ${cause.message}`, cause, isHeapFull: false }),
    )
    child.on(
      'close',
      safely('function.close', async (code: number | null, signal: NodeJS.Signals | null) => {
        await Promise.all(reads)
        resolve({
          why: output.explain(`it ended with ${signal ?? `exit code ${code}`}`),
          isHeapFull: output.errors().some((text) => /out of memory|heap limit/i.test(text)),
        })
      }),
    )
  })
}
