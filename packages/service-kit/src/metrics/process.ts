/** What holds for every process: memory, CPU, the delay of the event loop, and what its alarms counted. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Alarms } from '../lifecycle/alarms.ts'
import type { Metrics } from './registry.ts'

/** Milliseconds between two measurements of the delay: ten a second cost an idle device next to nothing. */
const resolutionMs = 100
/** Milliseconds that a window of the delay covers at least, however often it is read. */
const windowMs = 10_000

/** @returns what ends the measurement */
export function measureProcess(metrics: Metrics, alarms: Pick<Alarms, 'counts'>): () => void {
  const { gauge, gauges, total } = metrics
  gauge('process_start_time_seconds', 'Start of the process, Unix time.', () => performance.timeOrigin / 1000)
  total('process_cpu_seconds_total', 'CPU time of the process, in user and system mode.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  gauges(
    'selvedge_memory_bytes',
    'Memory that JavaScript uses: the heap, and buffers outside of it.',
    { kind: ['heap', 'external'] },
    () => {
      const { heapUsed, external } = process.memoryUsage()
      return { heap: heapUsed, external }
    },
  )
  gauge('process_resident_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss())
  total('selvedge_event_loop_busy_seconds_total', 'Time in which the event loop was not waiting.', () => {
    const { active } = performance.eventLoopUtilization()
    return active / 1000
  })
  total('selvedge_failures_total', 'Failures that were caught at the entry of a callback.', () => {
    return alarms.counts().caught
  })
  total('selvedge_unhandled_rejections_total', 'Rejected promises that nothing handled.', () => {
    return alarms.counts().unhandled
  })
  return measureDelay(metrics)
}

function measureDelay({ gauges }: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()
  let since = performance.now()
  let last = { mean: 0, p99: 0, max: 0 }
  // Each measurement contains the time until the next one was due.
  const lateSeconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000) || 0
  gauges(
    'selvedge_event_loop_delay_seconds',
    'By how much timers were late in the last ten seconds or more, measured ten times a second.',
    { stat: ['mean', 'p99', 'max'] },
    () => {
      if (delay.count === 0) return last
      last = {
        mean: lateSeconds(delay.mean),
        p99: lateSeconds(delay.percentile(99)),
        max: lateSeconds(delay.max),
      }
      if (performance.now() - since >= windowMs) {
        delay.reset()
        since = performance.now()
      }
      return last
    },
  )
  return () => {
    delay.disable()
  }
}
