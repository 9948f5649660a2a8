/** Memory of processes over time. */
import { readFileSync } from 'node:fs'

/** Resident memory of a process in MB; undefined where it has ended. */
export function residentMb(pid: number): number | undefined {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024
  } catch {
    return undefined
  }
}

/** The highest resident memory of a process in MB, since its start or since 5 was written to its `clear_refs`. */
export const peakMb = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

export interface Slope {
  /** By how much y grows while x grows by 1. */
  readonly slope: number
  /** Its standard error. */
  readonly error: number
}

/** The line with the least squares through points. */
export function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): Slope {
  const count = points.length
  const mean = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((sum, each) => sum + of(each), 0) / count
  const [meanX, meanY] = [mean(({ x }) => x), mean(({ y }) => y)]
  const spread = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
  if (count < 3 || spread === 0) return { slope: 0, error: Number.POSITIVE_INFINITY }
  const slope = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / spread
  const rest = points.reduce((sum, { x, y }) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0)
  return { slope, error: Math.sqrt(rest / (count - 2) / spread) }
}
