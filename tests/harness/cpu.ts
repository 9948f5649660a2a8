/**
 * CPU time of work. Other load of the machine, a collection of garbage or a compilation only adds to it: the least of several
 * measures is what the work needs. A bound is a multiple of other work, measured in turns with it, since the speed of a machine changes.
 */
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

/** Milliseconds of CPU that this process uses for work. Linux counts those of one thread in steps of several milliseconds. */
export function ownCpu(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

type Measure = () => number | Promise<number>

const maxTurns = 15

/** The least value of each of several measures, in turns until these values are enough for a test, and at most fifteen times. */
export async function leastOf(
  measures: readonly Measure[],
  isEnough: (least: readonly number[]) => boolean,
  minTurns = 3,
): Promise<readonly number[]> {
  const least = measures.map(() => Number.POSITIVE_INFINITY)
  for (let turn = 1; turn <= maxTurns; turn++) {
    for (const [at, measure] of measures.entries()) least[at] = Math.min(least[at]!, await measure())
    if (turn >= minTurns && isEnough(least)) break
  }
  return least
}

/** How many times the size the larger input of {@link growthOf} has. */
const times = 16

/** Between linear growth and quadratic growth: four times as much as the one, a quarter of the other. */
export const linear = 4

/**
 * How the CPU time of work grows with its input: 1 if it is linear, 16 if it is quadratic. A test expects less than {@link linear}.
 *
 * @param size of the smaller of two inputs
 * @param make makes the input of a size; not measured
 */
export async function growthOf<T>(
  size: number,
  make: (size: number) => T,
  work: (input: T) => void,
): Promise<number> {
  const [few, many] = [make(size), make(times * size)]
  // Below half a millisecond, the first call decides and not the size.
  const growth = ([small = 0, large = 0]: readonly number[]) => large / times / Math.max(small, 0.5)
  const measures = [() => ownCpu(() => work(few)), () => ownCpu(() => work(many))]
  return growth(await leastOf(measures, (least) => growth(least) < linear))
}
