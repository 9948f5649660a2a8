/** What a person should attend to: a reason for `getMe`, the details for the log of the device. */
import { isDeepStrictEqual } from 'node:util'
import { type Notice, type NoticeReason, noticeNames } from '@selvedge/protocol'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { errorIdOf, type Log } from '@selvedge/service-kit/log'

export interface Notices {
  /**
   * Shows a reason until it is cleared. One that is shown already stays as it is.
   *
   * @param details for the log line, which gets the same error ID
   * @param names of methods and routes, which are shown as well; others than before are a new notice
   */
  raise(reason: NoticeReason, details: object, names?: readonly string[]): void
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
  const add = (added: Notice) => replace([...without(added.reason), added])
  const shownNames = (reason: NoticeReason) => notices.find((each) => each.reason === reason)?.names
  return {
    raise(reason, details, all) {
      const names = all && noticeNames(all)
      if (has(reason) && isDeepStrictEqual(shownNames(reason), names)) return
      const errorId = errorIdOf(log, 'a notice was raised', { reason, ...details }, 'warn')
      add({ reason, errorId, time: isoTime(clock.now()), ...(names && { names }) })
    },
    show: (reason, errorId, at) => add({ reason, errorId, time: isoTime(at) }),
    clear(reason) {
      if (has(reason)) replace(without(reason))
    },
    has,
    list: () => notices,
  }
}
