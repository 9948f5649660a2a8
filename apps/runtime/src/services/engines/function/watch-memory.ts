import { safely } from '@selvedge/service-kit/safely'

/** How the memory of a process is read where no control group enforces the limit. */
export interface MemoryReader {
  /** Bytes of a process and all its descendants; null if it has exited, or that is not known. */
  memoryOf(pid: number): Promise<number | null>
  /** Milliseconds between two checks. */
  readonly memoryCheckMs: number
}

/**
 * Calls once when a process tree passes its limit: V8 does not count ArrayBuffers, so the limit is held from outside, too.
 *
 * @param limit in bytes
 */
export function watchMemory(
  pid: number,
  limit: number,
  onPassed: (bytes: number) => void,
  { memoryOf, memoryCheckMs }: MemoryReader,
): () => void {
  let isChecking = false
  let isOver = false
  const check = safely('function.memory', async () => {
    if (isChecking || isOver) return
    isChecking = true
    const bytes = await memoryOf(pid).finally(() => {
      isChecking = false
    })
    if (isOver || bytes === null || bytes <= limit) return
    isOver = true
    onPassed(bytes)
  })
  const timer = setInterval(check, memoryCheckMs)
  return () => {
    isOver = true
    clearInterval(timer)
  }
}
