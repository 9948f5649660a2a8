import { readdirSync, readFileSync } from 'node:fs'

/** CPU microseconds of a process and, apart from it, of all that it started: nanoseconds on the processor, of every thread. */
export function cpuOf(pid: number): { own: number; children: number } {
  const parents = new Map<number, number>()
  const times = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
      const threads = readdirSync(`/proc/${name}/task`)
      const ran = threads.map(
        (each) => readFileSync(`/proc/${name}/task/${each}/schedstat`, 'utf8').split(' ')[0],
      )
      times.set(
        Number(name),
        ran.reduce((sum, each) => sum + Number(each) / 1000, 0),
      )
    } catch {
      // It has just ended.
    }
  }
  const isChild = (each: number): boolean => {
    const parent = parents.get(each)
    return parent !== undefined && (parent === pid || isChild(parent))
  }
  let children = 0
  for (const [each, time] of times) if (isChild(each)) children += time
  return { own: times.get(pid) ?? 0, children }
}
