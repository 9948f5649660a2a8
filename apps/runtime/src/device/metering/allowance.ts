/** Whether images may be downloaded now: by the kind of the link, the times of the day that are given, and what was used. */
import type { LinkState } from './metered-link.ts'

export interface Refusal {
  readonly kind: 'month' | 'day' | 'metered'
  /** A sentence for people, with what to do. */
  readonly reason: string
  /** Unix milliseconds when it ends by the clock; undefined: when the link changes. */
  readonly until: number | undefined
}

export interface AllowanceSettings {
  /** Bytes; 0: no limit. */
  readonly dayBytes: number
  /** Bytes; 0: no limit. */
  readonly monthBytes: number
  /** Times of the day such as `01:00-05:00`, in which a metered link may be used. */
  readonly windows: readonly string[]
}

interface State {
  readonly link: LinkState
  /** Bytes. */
  readonly today: number
  /** Bytes. */
  readonly thisMonth: number
  /** Unix milliseconds. */
  readonly now: number
}

const atOnce = 'Deploy with "now" (selvedge image deploy --now) to download at once.'

/** @returns why no image may be downloaded now; undefined: it may */
export function refusalOf(settings: AllowanceSettings, state: State): Refusal | undefined {
  const { dayBytes, monthBytes, windows } = settings
  const { link, today, thisMonth, now } = state
  if (monthBytes > 0 && thisMonth >= monthBytes)
    return {
      kind: 'month',
      reason: `${thisMonth} bytes were used this month; the limit is ${monthBytes} (network.monthBudget). ${atOnce}`,
      until: startOfMonth(now, 1),
    }
  if (dayBytes > 0 && today >= dayBytes)
    return {
      kind: 'day',
      reason: `${today} bytes were used today; the limit is ${dayBytes} (network.dayBudget). ${atOnce}`,
      until: startOfDay(now, 1),
    }
  if (!link.isMetered || windows.some((each) => isWithin(each, now))) return undefined
  const next = windows.map((each) => nextStart(each, now)).toSorted((one, other) => one - other)[0]
  const when = windows.length > 0 ? `, and network.downloadTimes has ${windows.join(', ')}` : ''
  return {
    kind: 'metered',
    reason: `the link is metered (${link.reason})${when}. ${atOnce}`,
    until: next,
  }
}

/** Whether reports that may be coarser are. Four fifths of a budget leave room for what has to be sent. */
export function isScarce({ dayBytes, monthBytes }: AllowanceSettings, state: State): boolean {
  const isNear = (used: number, limit: number) => limit > 0 && used >= limit * 0.8
  return state.link.isMetered || isNear(state.today, dayBytes) || isNear(state.thisMonth, monthBytes)
}

const form = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/

/** @returns minutes of the day of its start and its end; undefined: it has another form, or no length */
export function readWindow(text: string): { readonly start: number; readonly end: number } | undefined {
  const [, ...digits] = form.exec(text) ?? []
  if (digits.length === 0) return undefined
  const [fromHour, fromMinute, toHour, toMinute] = digits.map(Number) as [number, number, number, number]
  const [start, end] = [fromHour * 60 + fromMinute, toHour * 60 + toMinute]
  return start === end ? undefined : { start, end }
}

/** A window may include midnight. */
function isWithin(text: string, now: number): boolean {
  const window = readWindow(text)
  if (!window) return false
  const { start, end } = window
  const date = new Date(now)
  const minute = date.getHours() * 60 + date.getMinutes()
  return start < end ? minute >= start && minute < end : minute >= start || minute < end
}

/** Unix milliseconds of the next start, today or tomorrow. */
function nextStart(text: string, now: number): number {
  const { start = 0 } = readWindow(text) ?? {}
  const at = (days: number) => {
    const date = new Date(startOfDay(now, days))
    return date.setHours(Math.floor(start / 60), start % 60)
  }
  return at(0) > now ? at(0) : at(1)
}

function startOfDay(now: number, days: number): number {
  const date = new Date(now)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime()
}

function startOfMonth(now: number, months: number): number {
  const date = new Date(now)
  return new Date(date.getFullYear(), date.getMonth() + months, 1).getTime()
}
