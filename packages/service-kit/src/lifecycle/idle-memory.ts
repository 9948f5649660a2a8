/**
 * Returns memory to the system after a busy time. V8 lets its young generation grow: to 8 MB during a start, and to 134 MB under load.
 * It shrinks only in a full garbage collection, and an idle process allocates too little to cause one.
 */
import { performance } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { safely } from '../safely/safely.ts'

export interface IdleMemorySettings {
  /** Milliseconds between two checks. */
  readonly checkEveryMs: number
  /** The process is idle if its event loop was busy for at most this part of the time since the last check. */
  readonly maxBusyPart: number
  /** Bytes of the young generation from which a collection is worth its pause. */
  readonly minBytes: number
  /** Bytes of live objects up to which the pause is short: 20 to 40 ms for 20 MB. A larger heap is left alone. */
  readonly maxUsedBytes: number
}

const defaults: IdleMemorySettings = {
  checkEveryMs: 15_000,
  maxBusyPart: 0.05,
  minBytes: 4 * 1024 * 1024,
  maxUsedBytes: 128 * 1024 * 1024,
}

/** @returns bytes of the young generation, and bytes that are used outside of it */
function measureHeap(): { young: number; used: number } {
  const spaces = getHeapSpaceStatistics()
  const isYoung = ({ space_name }: { space_name: string }) => space_name.startsWith('new_')
  const young = spaces.find((each) => each.space_name === 'new_space')?.space_size ?? 0
  const old = spaces.filter((each) => !isYoung(each))
  return { young, used: old.reduce((sum, each) => sum + each.space_used_size, 0) }
}

/** A collection that returns all free pages. The flag makes the function visible in a new context; no other code sees it. */
function collect(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
  gc({ type: 'major', flavor: 'last-resort' })
}

/** @returns what ends the checks; they do not keep the process alive */
export function returnIdleMemory(settings: Partial<IdleMemorySettings> = {}): () => void {
  const { checkEveryMs, maxBusyPart, minBytes, maxUsedBytes } = { ...defaults, ...settings }
  // The first check counts from the start of the process.
  let last: ReturnType<typeof performance.eventLoopUtilization> | undefined
  const check = safely('memory.check', () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = last ? performance.eventLoopUtilization(now, last) : now
    last = now
    if (utilization > maxBusyPart) return
    const { young, used } = measureHeap()
    if (young >= minBytes && used <= maxUsedBytes) collect()
  })
  const timer = setInterval(check, checkEveryMs).unref()
  return () => clearInterval(timer)
}
