/** CPU time of processes, which other load of the machine does not change as it changes the time on the wall. */
import { readdirSync, readFileSync } from 'node:fs'

/** Milliseconds of CPU that all threads of a process have used, user and kernel (proc(5), schedstat). */
export function cpuOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.reduce((sum, thread) => {
    try {
      const [nanoseconds = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
      return sum + Number(nanoseconds) / 1e6
    } catch {
      // The thread exited in the meantime.
      return sum
    }
  }, 0)
}

/** Milliseconds of CPU of this process for a piece of work: the median of several runs. */
export function ownCpu(work: () => void, runs = 9): number {
  return median(
    Array.from({ length: runs }, () => {
      const before = process.cpuUsage()
      work()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }),
  )
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1]!
