import { readLastBackup } from '../backup/last-backup.ts'
import type { Clock } from '../clock/clock.ts'
import type { Metrics } from './registry.ts'

/** Milliseconds that a backup may be ahead of the clock; one that is later has no age. */
const toleranceMs = 60_000

/** @param folder of the daemon */
export function measureBackup({ gauge }: Metrics, folder: string, clock: Clock): void {
  gauge(
    'selvedge_backup_age_seconds',
    'Age of the last backup of the store that was noted on this machine; absent without one.',
    () => {
      const at = readLastBackup(folder)
      const ageMs = at === undefined ? Number.NaN : clock.now() - at
      return ageMs >= -toleranceMs ? Math.max(0, ageMs) / 1000 : undefined
    },
  )
}
