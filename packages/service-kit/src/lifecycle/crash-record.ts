/** The record of a crash, which the next run of the daemon reports. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'

const crashRecord = z.object({
  /** Crashes since the state folder was made. */
  count: z.number(),
  /** Error ID of the log line of the last crash. */
  errorId: z.string(),
  /** When it happened, Unix milliseconds. */
  at: z.number(),
})

export type CrashRecord = z.infer<typeof crashRecord>

const fileOf = (folder: string): string => join(folder, 'crashes.json')

/** The record in a state folder; undefined when the daemon never crashed, or the record cannot be read. */
export function readCrashRecord(folder: string): CrashRecord | undefined {
  try {
    return crashRecord.parse(JSON.parse(readFileSync(fileOf(folder), 'utf8')))
  } catch {
    return undefined
  }
}

/** Counts one more crash, mode 0600. Synchronous and without an error: the process is about to end. */
export function countCrash(folder: string, errorId: string, at: number): void {
  const count = (readCrashRecord(folder)?.count ?? 0) + 1
  try {
    const draft = `${fileOf(folder)}.new`
    writeFileSync(draft, `${JSON.stringify({ count, errorId, at })}\n`, { mode: 0o600 })
    renameSync(draft, fileOf(folder))
  } catch {
    // A full disk: the exit code and the log still say that it crashed.
  }
}
