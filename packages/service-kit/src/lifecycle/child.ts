import { type ChildProcess, fork } from 'node:child_process'
import * as z from 'zod'
import { safely } from '../safely/safely.ts'

/** The exit of a program: its exit code, or null and a description. */
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
  /** Resolves when it has exited. */
  readonly ended: Promise<Ending>
  stop(): Promise<void>
}

/** A program that exited before it was ready. Its last line on standard error contains the reason. */
export class ChildFailure extends Error {
  override readonly name = 'ChildFailure'
  readonly ending: Ending
  constructor(program: string, ending: Ending) {
    super(`${program} did not start: it ended ${ending.how}`)
    this.ending = ending
  }
}

/**
 * Settings of glibc's allocator (mallopt(3)): memory that is free at the end of the heap returns to the system, and the threads of the
 * pool share two arenas. 4 MB less for an idle runtime.
 */
export const allocatorEnv = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' } as const

/** Timeouts in milliseconds for the start and for the exit of a program. */
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
    env: { ...allocatorEnv, ...env },
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
