import type { Metrics } from '@selvedge/service-kit/metrics'

export interface ReplicaReadings {
  /** How many replicas share the store. */
  readonly replicas: () => number
  /** Seconds since the changes of other replicas were read; undefined if the store has one process. */
  readonly ageSeconds: () => number | undefined
}

export function measureReplicas({ gauge }: Metrics, { replicas, ageSeconds }: ReplicaReadings): void {
  gauge('selvedge_replicas', 'Replicas that were seen of late, this one included.', replicas)
  gauge(
    'selvedge_changes_checked_seconds',
    'Time since the changes of other replicas were read; absent with SQLite. Beyond replicas.maxAge all requests are refused.',
    ageSeconds,
  )
}
