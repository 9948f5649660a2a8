/** All counts of work under way of a process, for its metrics and for `/readyz`. */
import { channel } from 'node:diagnostics_channel'

/** Values of the label `work` in the metrics. */
export const workKinds = [
  'requests',
  'calls',
  'streams',
  'large_bodies',
  'uploads',
  'archives',
  'pulls',
  'exports',
  'passwords',
  'fetches',
  'statements',
] as const

export type WorkKind = (typeof workKinds)[number]

/** A count of work. */
export interface AnnouncedWork {
  readonly kind: WorkKind
  /** Pieces of work that are not complete. */
  underWay(): number
  /** Name of a route or method that completes no request and refuses new ones; absent: the count never refuses. */
  stalled?(): string | undefined
}

/** Counts are published here when they are created: they live as long as the process. */
const announcements = channel('selvedge:work')

export const announceWork = (work: AnnouncedWork): void => announcements.publish(work)

export interface Workload {
  /** Pieces of work under way, by kind; a kind without a count is left out. */
  counts(): Readonly<Partial<Record<WorkKind, number>>>
  /** Routes and methods that complete no request for a while and refuse new ones, in order. */
  stalled(): readonly string[]
  stop(): void
}

/** Follows the counts that are created from now on. To be called before a daemon starts. */
export function followWorkload(): Workload {
  const all: AnnouncedWork[] = []
  const add = (work: unknown) => void all.push(work as AnnouncedWork)
  announcements.subscribe(add)
  return {
    counts() {
      const sums: Partial<Record<WorkKind, number>> = {}
      for (const { kind, underWay } of all) sums[kind] = (sums[kind] ?? 0) + underWay()
      return sums
    },
    stalled: () => all.flatMap(({ stalled }) => stalled?.() ?? []).toSorted(),
    stop() {
      announcements.unsubscribe(add)
    },
  }
}
