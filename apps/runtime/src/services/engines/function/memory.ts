/** Memory of processes as Linux charges it. */
import { readFileSync } from 'node:fs'

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Bytes of a process and all its descendants, as they would be charged (RssAnon and RssShmem); null where it is gone. */
export function memoryOfTree(pid: number): number | null {
  const status = read(`/proc/${pid}/status`)
  if (status === '') return null
  const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean)
  const own = (kilobytes('RssAnon') + kilobytes('RssShmem')) * 1024
  return children.reduce((sum, child) => sum + (memoryOfTree(Number(child)) ?? 0), own)
}
