import { type ChildProcess, fork } from 'node:child_process'
import * as z from 'zod'
import { safely } from '../safely/safely.ts'

/** How a program ended: its exit code, or null and how in words. */
export interface Ending {
  readonly code: number | null
  /** As in "the program ended …": `with code 1`, `by SIGKILL`. */
  readonly how: string
}

/** A program that was started and is ready. */
export interface Child {
  readonly url: string
  readonly pid: number | undefined
  /** What else it sent when it was ready. */
  readonly ready: Readonly<Record<string, string>>
  /** Resolves when it has ended. */
  readonly ended: Promise<Ending>
  stop(): Promise<void>
}

/** A program that ended before it was ready. Its own last line on standard error says why. */
export class ChildFailure extends Error {
  override readonly name = 'ChildFailure'
  readonly ending: Ending
  constructor(program: string, ending: Ending) {
    super(`${program} did not start: it ended ${ending.how}`)
    this.ending = ending
  }
}

/** Milliseconds in which a program must be ready, and in which it must have ended. */
const timeouts = { start: 30_000, stop: 10_000 }

const readyMessage = z.object({ ready: z.record(z.string(), z.string()).and(z.object({ url: z.string() })) })

/**
 * Starts a program and waits until it is ready. The channel between the two closes with this process, so that the program never
 * outlives it. Signals of the terminal go to this process alone: it ends its children in order.
 *
 * @param stopped ends the program while it starts
 * @throws ChildFailure
 */
export async function startChild(
  name: string,
  program: string,
  env: Record<string, string | undefined>,
  { args = [], stopped }: { readonly args?: readonly string[]; readonly stopped?: AbortSignal } = {},
): Promise<Child> {
  const child = fork(program, [...args], {
    env,
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  })
  const ended = endOf(child)
  const stop = () => stopChild(child, ended)
  const late = setTimeout(() => child.kill('SIGKILL'), timeouts.start)
  const abort = safely('child.stop', stop)
  stopped?.addEventListener('abort', abort, { once: true })
  if (stopped?.aborted) abort()
  const ready = await Promise.race([readyOf(child), ended.then(() => undefined)])
  clearTimeout(late)
  stopped?.removeEventListener('abort', abort)
  if (!ready) throw new ChildFailure(name, await ended)
  return { url: ready.url, pid: child.pid, ready, ended, stop }
}

const endOf = (child: ChildProcess): Promise<Ending> =>
  new Promise((resolve) => {
    child.once('error', (cause) => resolve({ code: null, how: `with ${cause.message}` }))
    child.once('exit', (code, signal) =>
      resolve({ code, how: signal === null ? `with code ${code}` : `by ${signal}` }),
    )
  })

const readyOf = (child: ChildProcess): Promise<z.infer<typeof readyMessage>['ready']> =>
  new Promise((resolve) => {
    const read = (message: unknown) => {
      const { success, data } = readyMessage.safeParse(message)
      if (success) resolve(data.ready)
    }
    child.on('message', safely('child.message', read))
  })

async function stopChild(child: ChildProcess, ended: Promise<Ending>): Promise<void> {
  const forced = setTimeout(() => child.kill('SIGKILL'), timeouts.stop)
  child.kill('SIGTERM')
  await ended
  clearTimeout(forced)
}
