/**
 * The alarms of a process: failures that were caught at the entry of a callback (`safely`), rejections that nothing handled,
 * exceptions that nothing caught. Each is logged with an error ID and counted; only the last kind ends the process.
 */
import { errorIdOf, type Log } from '../log/index.ts'
import { type CaughtFailure, caughtFailures } from '../safely/safely.ts'
import { type CrashRecord, countCrash, readCrashRecord } from './crash-record.ts'
import { exitCodes } from './exit-codes.ts'

/** Messages of the log lines. Tests and monitors look for them: they are fixed. */
export const alarmMessages = {
  caught: 'a failure was caught',
  unhandled: 'a rejected promise was not handled',
  uncaught: 'an exception was not caught',
} as const

export interface Alarm {
  /** Also in the log line. */
  readonly errorId: string
  /** Unix milliseconds. */
  readonly at: number
}

export interface Alarms {
  /** The crash that the last run recorded, if this folder was given to `recordCrashesIn`. */
  lastCrash(): CrashRecord | undefined
  /** Counts of the present run. */
  counts(): { readonly caught: number; readonly unhandled: number }
  /** Called for each rejection that nothing handled. */
  onUnhandled(listener: (alarm: Alarm) => void): void
  /** Stores the crash count in this folder from now on. */
  recordCrashesIn(folder: string): void
}

/** Listens to all three kinds. To be called once in a process, before anything can fail. */
export function raiseAlarms(log: Log, now: () => number): Alarms {
  let folder: string | undefined
  let lastCrash: CrashRecord | undefined
  let unhandled = 0
  const listeners: ((alarm: Alarm) => void)[] = []

  process.on('unhandledRejection', (cause) => {
    unhandled++
    const errorId = errorIdOf(log, alarmMessages.unhandled, { count: unhandled, cause })
    const alarm = { errorId, at: now() }
    for (const listener of listeners) listener(alarm)
  })
  process.on('uncaughtException', (cause) => {
    const errorId = errorIdOf(log, alarmMessages.uncaught, { cause })
    if (folder !== undefined) countCrash(folder, errorId, now())
    process.exit(exitCodes.crashed)
  })
  const caught = reportCaught(log)

  return {
    lastCrash: () => lastCrash,
    counts: () => ({ caught: caught(), unhandled }),
    onUnhandled: (listener) => void listeners.push(listener),
    recordCrashesIn(path) {
      folder = path
      lastCrash = readCrashRecord(path)
    },
  }
}

/** Logs the failures that `safely` caught. Gives their number. */
function reportCaught(log: Log): () => number {
  let count = 0
  caughtFailures.subscribe((message) => {
    const { where, cause } = message as CaughtFailure
    errorIdOf(log, alarmMessages.caught, { where, count: ++count, cause })
  })
  return () => count
}
