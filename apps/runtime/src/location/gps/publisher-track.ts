/** Fixes that were replaced before they could be sent: if a track is recorded, they are sent with the newest one. */
import { maxFixes } from '@selvedge/protocol'
import type { Notices } from '../../device/node/notices.ts'
import type { StoredFix } from '../../device/state.ts'

export interface Track {
  /**
   * Called with each newest fix, before it is sent. Stores the one before it if that was not sent.
   *
   * @param isRecorded whether a track is recorded now
   * @param acceptedUpTo time of the latest fix that the service accepted
   */
  note(newest: StoredFix | null, isRecorded: boolean, acceptedUpTo: number): void
  /** Removes all fixes. They fit in one report with the newest one. */
  take(): readonly StoredFix[]
  /** Stores fixes again that could not be sent. */
  putBack(fixes: readonly StoredFix[]): void
  /** A report was accepted. */
  sent(): void
  clear(): void
}

/** A fix is replaced before it was sent if a later one comes and the service did not accept one of its time. */
export const isReplacedUnsent = (
  before: StoredFix | null,
  newest: StoredFix | null,
  acceptedUpTo: number,
): before is StoredFix =>
  before !== null && before.fixedAt > acceptedUpTo && before.fixedAt !== newest?.fixedAt

export function createTrack(notices: Notices): Track {
  let unsent: StoredFix[] = []
  let newestBefore: StoredFix | null = null

  function store(fixes: readonly StoredFix[]): void {
    unsent = fixes.slice(1 - maxFixes)
    const dropped = fixes.length - unsent.length
    if (dropped > 0) notices.raise('fixes_dropped', { dropped, kept: unsent.length })
  }

  return {
    note(newest, isRecorded, acceptedUpTo) {
      if (isRecorded && isReplacedUnsent(newestBefore, newest, acceptedUpTo)) store([...unsent, newestBefore])
      newestBefore = newest
    },
    take: () => unsent.splice(0),
    putBack: (fixes) => store([...fixes, ...unsent]),
    sent() {
      if (unsent.length === 0) notices.clear('fixes_dropped')
    },
    clear() {
      unsent = []
      newestBefore = null
      notices.clear('fixes_dropped')
    },
  }
}
