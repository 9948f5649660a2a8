import { type ChildProcess, fork } from 'node:child_process'
import { ListenError } from '../http/listen.ts'

/** A program that was started and is ready. */
export interface Child {
  readonly url: string
  readonly pid: number | undefined
  /** What else it said when it was ready. */
  readonly ready: Readonly<Record<string, string>>
  /** How it ended, in words, once it did. */
  readonly ended: Promise<string>
  stop(): Promise<void>
}

/** Milliseconds in which a program must be ready, and in which it must have ended. */
const patience = { start: 30_000, stop: 10_000 }

/**
 * Starts a program and waits until it says that it is ready. The channel between the two tells the child when this process is
 * gone, so that it never outlives it. Signals of the terminal go to this process alone: it ends its children in order.
 *
 * @throws ListenError when it does not get ready; it has said why on standard error
 */
export async function startChild(
  name: string,
  program: string,
  env: Record<string, string | undefined>,
  args: readonly string[] = [],
): Promise<Child> {
  const child = fork(program, [...args], {
    env,
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (cause) => resolve(`with ${cause.message}`))
    child.once('exit', (code, signal) => resolve(signal ? `by ${signal}` : `with code ${code}`))
  })
  const said = new Promise<Child['ready'] & { url: string }>((resolve) => {
    child.once('message', (message) => resolve((message as { ready: { url: string } }).ready))
  })
  const late = setTimeout(() => child.kill('SIGKILL'), patience.start)
  const ready = await Promise.race([said, ended.then(() => undefined)])
  clearTimeout(late)
  if (!ready) throw new ListenError(`${name} did not start`)
  return { url: ready.url, pid: child.pid, ready, ended, stop: () => stopChild(child, ended) }
}

async function stopChild(child: ChildProcess, ended: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const forced = setTimeout(() => child.kill('SIGKILL'), patience.stop)
  child.kill('SIGTERM')
  await ended
  clearTimeout(forced)
}
