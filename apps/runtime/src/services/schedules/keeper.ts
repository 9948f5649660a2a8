import type { ContainerSettings, ScheduleRecord } from '@selvedge/protocol'

/** What containers need to know of their times. */
export interface ScheduleKeeper {
  /** @param key of a container. @returns undefined if its settings have no times */
  record(key: string, settings: ContainerSettings): ScheduleRecord | undefined
  /** To be called when containers were deployed, changed or removed. Resolves when that is stored, or the disk refuses it. Never rejects. */
  refresh(): Promise<void>
}
