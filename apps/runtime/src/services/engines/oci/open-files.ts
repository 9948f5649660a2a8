/** How many files a process of this system may open at most. */
import { readFileSync } from 'node:fs'

/** @param table as in proc_pid_limits(5) @returns the hard limit; infinite without one */
export function hardLimitIn(table: string): number {
  const [, hard] = /^Max open files\s+\S+\s+(\d+)\s/m.exec(table) ?? []
  return hard === undefined ? Number.POSITIVE_INFINITY : Number(hard)
}

/** The hard limit of this process; infinite on systems other than Linux, where engines have a virtual machine. */
export function hardOpenFiles(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  try {
    return hardLimitIn(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
