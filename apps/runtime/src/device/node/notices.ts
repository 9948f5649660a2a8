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

export function createNotices(clock: Clock, log: Log): Notices {
  let notices: readonly Notice[] = Object.freeze([])
  const has = (reason: NoticeReason) => notices.some((each) => each.reason === reason)
  const without = (reason: NoticeReason) => notices.filter((each) => each.reason !== reason)
  const show: Notices['show'] = (reason, errorId, at) => {
    notices = Object.freeze([...without(reason), { reason, errorId, time: isoTime(at) }])
  }
  return {
    raise(reason, details) {
      if (has(reason)) return
      show(reason, errorIdOf(log, 'a notice was raised', { reason, ...details }, 'warn'), clock.now())
    },
    show,
    clear(reason) {
      if (has(reason)) notices = Object.freeze(without(reason))
    },
    has,
    list: () => notices,
  }
}
