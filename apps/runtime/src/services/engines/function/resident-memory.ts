/** Memory of processes where there is no `/proc`: as `ps` shows it (POSIX.1-2024 with the format `rss`, which BSD and Linux have). */
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'

/** Not from `PATH`: the place where macOS and Linux have it. */
const ps = '/bin/ps'
/** Milliseconds for one call. */
const timeoutMs = 5000

/**
 * Bytes of a process that are in memory, less the size of the program's file: parts of it are in memory, too, and belong to no function. So
 * a function may have somewhat more than its limit, and never less.
 *
 * @param program path of the program's file
 * @returns null if the process has exited, or `ps` does not answer
 */
export async function residentMemory(pid: number, program: string): Promise<number | null> {
  const text = await new Promise<string>((resolve) => {
    execFile(ps, ['-o', 'rss=', '-p', String(pid)], { timeout: timeoutMs, env: {} }, (cause, stdout) =>
      resolve(cause ? '' : stdout),
    )
  })
  const kibibytes = /^\s*(\d{1,12})\s*$/.exec(text)?.[1]
  if (kibibytes === undefined) return null
  const size = statSync(program, { throwIfNoEntry: false })?.size ?? 0
  return Math.max(0, Number(kibibytes) * 1024 - size)
}
