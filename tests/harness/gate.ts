/**
 * The gate: no test passes while something went wrong that it did not ask for. An alarm is a rejection that nothing handled or an
 * exception that nothing caught, here or in a daemon, and a daemon that exited by itself. `gate-setup.ts` fails the test then.
 */
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { createLineSplitter } from '@selvedge/protocol/lines'
import { alarmMessages, exitCodes } from '@selvedge/service-kit/lifecycle'

let alarms: string[] = []
const watched = new Set<ChildProcess>()

export const raiseAlarm = (text: string): void => void alarms.push(text)

export interface Watched {
  /** What it wrote on standard error. */
  errors(): string
  /** From now on its end is an alarm. Before, it has not started yet, and the caller that waits for the start sees its end. */
  mustRun(): void
  /** From now on its exit is expected: the test stops it, or causes its exit. */
  expectEnd(): void
  /** Declares that the test causes an alarm in the program's log, a fixed message of `alarmMessages`. */
  expectAlarm(): void
}

/** Lines of standard error that are alarms: of a daemon, and of the stack about one of its daemons. */
function isAlarm(line: string): boolean {
  if (!line.startsWith('{')) return / ended (by|with) .*(is started again|is not started again)/i.test(line)
  try {
    const { message } = JSON.parse(line) as { message?: unknown }
    return message === alarmMessages.unhandled || message === alarmMessages.uncaught
  } catch {
    return false
  }
}

/**
 * Watches a program that a test started, a daemon or a whole stack, with a pipe for its standard error. A crash (exit code 70) and
 * an alarm in its log are alarms at any time, its end is one between `mustRun` and `expectEnd`.
 */
export function watch(name: string, child: ChildProcess): Watched {
  let errors = ''
  let mustRun = false
  let isAlarmExpected = false
  const split = createLineSplitter({ maxLine: 1024 * 1024, longer: 'split', ends: 'lf' })
  const check = (lines: readonly string[]) => {
    if (isAlarmExpected) return
    for (const line of lines.filter(isAlarm)) raiseAlarm(`${name} logged: ${line}`)
  }
  watched.add(child)
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
    check(split(chunk))
  })
  child.stderr?.once('end', () => check(split.end()))
  child.once('exit', (code, signal) => {
    watched.delete(child)
    const hasCrashed = code === exitCodes.crashed && !isAlarmExpected
    if (!mustRun && !hasCrashed) return
    raiseAlarm(`${name} ended ${signal ? `by ${signal}` : `with exit code ${code}`}: ${errors.slice(-2000)}`)
  })
  return {
    errors: () => errors,
    mustRun: () => {
      mustRun = true
    },
    expectEnd: () => {
      mustRun = false
    },
    expectAlarm: () => {
      isAlarmExpected = true
    },
  }
}

/** A process that exited; the event follows. */
const isZombie = ({ pid }: ChildProcess): boolean => {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** The alarms since the last call, with those that are on their way. */
export async function takeAlarms(): Promise<readonly string[]> {
  // Output and exits up to now are read in the next turns of the event loop.
  do await turn()
  while ([...watched].some(isZombie))
  const taken = alarms
  alarms = []
  return taken
}
