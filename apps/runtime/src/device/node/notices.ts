/** What a person should attend to: a reason for `getMe`, the details for the log of the device. */
import type { Notice, NoticeReason } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { errorIdOf, type Log } from '@selvedge/service-kit/log'

export interface Notices {
  /**
   * Shows a reason until it is cleared. One that is shown already stays as it is.
   *
   * @param details for the log line, which gets the same error ID
   */
  raise(reason: NoticeReason, details: object): void
  /** The same for something that has its log line already. @param at Unix milliseconds */
  show(reason: NoticeReason, errorId: string, at: number): void
  clear(reason: NoticeReason): void
  has(reason: NoticeReason): boolean
  /** The same frozen list until something changes. */
  list(): readonly Notice[]
}

/** @param onChange called when the list changed */
export function createNotices(clock: Clock, log: Log, onChange: () => void = () => undefined): Notices {
  let notices: readonly Notice[] = Object.freeze([])
  const has = (reason: NoticeReason) => notices.some((each) => each.reason === reason)
  const without = (reason: NoticeReason) => notices.filter((each) => each.reason !== reason)
  function replace(list: readonly Notice[]): void {
    notices = Object.freeze(list)
    onChange()
  }
  const show: Notices['show'] = (reason, errorId, at) =>
    replace([...without(reason), { reason, errorId, time: isoTime(at) }])
  return {
    raise(reason, details) {
      if (has(reason)) return
      show(reason, errorIdOf(log, 'a notice was raised', { reason, ...details }, 'warn'), clock.now())
    },
    show,
    clear(reason) {
      if (has(reason)) replace(without(reason))
    },
    has,
    list: () => notices,
  }
}
