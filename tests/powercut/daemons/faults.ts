import type { Faults } from '../recorder/record.ts'

/**
 * Syncs that fail while a daemon works; while it starts, its first thread does fewer than 21. What is stored under a name syncs a file,
 * then its folder. After a failure it begins again with the file, so an odd step meets files from then on, and an even one folders.
 */
export const failing: Readonly<Record<'files' | 'folders', Faults>> = {
  files: { fsync: '21+7', fdatasync: '7+5' },
  folders: { fsync: '21+6', fdatasync: '8+7' },
}
