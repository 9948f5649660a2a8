import { type Workload, workKinds } from '../work/workload.ts'
import type { Metrics } from './registry.ts'

/** Shows the work under way. @param workload of the process */
export function measureWork(metrics: Metrics, workload: Workload): void {
  metrics.gauges(
    'selvedge_work_under_way',
    'Work that is not complete: requests by their handlers, calls of methods, streams, large bodies in memory, uploads, archives that are read, pulls, exports, password hashes, fetches of keys, operations of the stores.',
    { work: workKinds },
    workload.counts,
  )
  metrics.gauge(
    'selvedge_stalled_routes',
    'Routes and methods that have completed no request for 10 s and refuse new ones.',
    () => workload.stalled().length,
  )
}
