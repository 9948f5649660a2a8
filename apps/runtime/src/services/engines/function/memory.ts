import { readFileSync } from 'node:fs'
import { safely } from '@selvedge/service-kit/safely'

/** Milliseconds between two checks, if no control group enforces the limit. */
const checkIntervalMs = 500

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

/** Calls once when a process tree passes its limit: V8 does not count ArrayBuffers, so the limit is held from outside, too. */
export function watchMemory(pid: number, limit: number, onPassed: (bytes: number) => void): () => void {
  const look = safely('function.memory', () => {
    const bytes = memoryOfTree(pid)
    if (bytes === null || bytes <= limit) return
    clearInterval(timer)
    onPassed(bytes)
  })
  const timer = setInterval(look, checkIntervalMs)
  return () => clearInterval(timer)
}
