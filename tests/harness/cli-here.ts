/**
 * Runs commands of the command line in the process of the test, for a test that runs many of them: no new process, and the modules are
 * loaded once. Each command gets its own folder, environment, output, signals and exit code, as in a process of its own; what it
 * leaves running is an error. What only a process shows (the program's own start and end, a terminal, a closed pipe) needs `runCli`.
 */

import { PassThrough, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { commands } from '../../apps/cli/src/commands/index.ts'
import { createTerminal, type TerminalStreams } from '../../apps/cli/src/output/terminal.ts'
import { runCli } from '../../apps/cli/src/program.ts'
import { inFolder, type Ran } from './cli.ts'
import { stepLimitMs } from './limits.ts'
import type { RunOptions } from './run-in.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const events = [...signals, 'exit'] as const

/** What ends a command that calls `process.exit`. */
class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`process.exit(${code})`)
    this.code = code
  }
}

let turnOf: Promise<unknown> = Promise.resolve()

/**
 * Runs a command in a folder, without a terminal. One command at a time: the folder and the environment are of the whole process.
 *
 * @param args of `selvedge`
 * @throws Error if it does not return in time, or leaves a timer, a process or a watched file behind
 */
export function runHere(cwd: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const ran = turnOf.then(() => runAlone(cwd, args, options))
  turnOf = ran.catch(() => undefined)
  return ran
}

/** Like `runCli`, in the process of the test. */
export const runCliHere = (
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
): Promise<Ran> => inFolder(cwd, args, (folder) => runHere(folder, args, { env }))

async function runAlone(
  cwd: string,
  args: readonly string[],
  { env = {}, untilShown }: RunOptions,
): Promise<Ran> {
  const ran = { code: 0, out: '', errors: '' }
  const before = openResources()
  const leave = enter(cwd, { PATH: process.env.PATH ?? '', ...env })
  const exit = Promise.withResolvers<number>()
  process.exit = ((code = 0) => {
    exit.resolve(Number(code))
    throw new Exit(Number(code))
  }) as typeof process.exit
  const terminal = createTerminal(
    streamsOf({
      out(text) {
        ran.out += text
      },
      errors(text) {
        const wasShown = untilShown !== undefined && ran.errors.includes(untilShown)
        ran.errors += text
        // In a later turn, as a signal comes.
        if (!wasShown && untilShown !== undefined && ran.errors.includes(untilShown))
          setImmediate(() => leave.signal('SIGTERM'))
      },
    }),
  )
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(
    () =>
      limit.reject(
        new Error(`${args.join(' ')} did not return within ${stepLimitMs / 1000} s: ${ran.errors}`),
      ),
    stepLimitMs,
  )
  try {
    ran.code = await Promise.race([runCli(args, commands, terminal), exit.promise, limit.promise])
    clearTimeout(timer)
    await expectNothingOpen(args, before)
    return ran
  } finally {
    clearTimeout(timer)
    leave()
  }
}

/** Makes the process that of a command. @returns the function that restores all of it, and sends the command a signal */
function enter(cwd: string, env: Readonly<Record<string, string>>) {
  const own = { cwd: process.cwd(), env: { ...process.env }, exit: process.exit, exitCode: process.exitCode }
  const listeners = new Map(events.map((event) => [event, process.listeners(event as 'exit')]))
  const ofCommand = (event: (typeof events)[number]) =>
    process.rawListeners(event as 'exit').filter((each) => !listeners.get(event)!.includes(each as never))
  process.chdir(cwd)
  setEnv(env)
  const leave = () => {
    for (const listener of ofCommand('exit')) (listener as (code: number) => void).call(process, 0)
    for (const event of events)
      for (const listener of ofCommand(event)) process.removeListener(event, listener as never)
    Object.assign(process, { exit: own.exit, exitCode: own.exitCode })
    process.chdir(own.cwd)
    setEnv(own.env)
  }
  return Object.assign(leave, {
    signal(name: (typeof signals)[number]) {
      for (const listener of ofCommand(name)) (listener as (name: string) => void).call(process, name)
    },
  })
}

function setEnv(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}

/** Standard input is at its end, as without a terminal. */
function streamsOf(write: Record<'out' | 'errors', (text: string) => void>): TerminalStreams {
  const to = (take: (text: string) => void) =>
    new Writable({
      decodeStrings: false,
      write(chunk, _, done) {
        take(String(chunk))
        done()
      },
    })
  return {
    stdin: new PassThrough().end(),
    stdout: to(write.out),
    stderr: to(write.errors),
  } as unknown as TerminalStreams
}

/** What would keep a process alive after its command; connections are at both ends of this process, and so not counted. */
const lasting = ['Timeout', 'ProcessWrap', 'FSEventWrap', 'StatWatcher']

const openResources = (): number =>
  process.getActiveResourcesInfo().filter((each) => lasting.includes(each)).length

/** A process that is to exit needs a moment for it. */
async function expectNothingOpen(args: readonly string[], before: number): Promise<void> {
  const from = performance.now()
  while (openResources() > before) {
    if (performance.now() - from > stepLimitMs)
      throw new Error(`${args.join(' ')} left open: ${process.getActiveResourcesInfo().join(', ')}`)
    await turn()
  }
}
