/** An answer with another status than a successful one, as the cause of an error. */
import type { Answer } from './http-get.ts'

/** Statuses after which the same request may succeed (RFC 9110 § 15, RFC 6585 § 4). */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

export class UnexpectedStatus extends Error {
  readonly status: number
  /** Whether the host may be busy or out of order, and sends the content later. */
  readonly isBusy: boolean
  /** Whether the same request may succeed later. */
  readonly isPassing: boolean
  /** From `Retry-After`, 0 or more; undefined without it, and for a value that is neither seconds nor a date. */
  readonly retryAfterMs: number | undefined

  /**
   * @param asked origin of the request: a storage host that it redirected to refuses a signed URL that has expired
   * @param now Unix milliseconds
   */
  constructor(
    { status, headers, origin }: Pick<Answer, 'status' | 'headers' | 'origin'>,
    asked: string,
    now: () => number = Date.now,
  ) {
    super(`it answered ${status}`)
    this.status = status
    this.isBusy = passing.has(status)
    this.isPassing = this.isBusy || (origin !== asked && (status === 400 || status === 403))
    this.retryAfterMs = readRetryAfter(headers['retry-after'], headers.date, now)
  }
}

/** The longest time that a date without a `Date` beside it is believed: the clock of the device may be years off. */
const maxByOwnClockMs = 86_400_000

/**
 * Seconds, or a date (RFC 9110 § 10.2.3). A date is compared with the `Date` of the same answer, so the clock of the device does not
 * matter; without that, with the clock of the device.
 */
function readRetryAfter(
  after: string | undefined,
  date: string | undefined,
  now: () => number,
): number | undefined {
  if (after === undefined) return undefined
  if (/^\d{1,9}$/.test(after)) return Number(after) * 1000
  const at = readDate(after)
  if (at === undefined) return undefined
  const sent = date === undefined ? undefined : readDate(date)
  const ms = Math.max(0, at - (sent ?? now()))
  return sent === undefined && ms > maxByOwnClockMs ? undefined : ms
}

/** The three forms of a date (RFC 9110 § 5.6.7), which are all in UTC. @returns Unix milliseconds */
function readDate(text: string): number | undefined {
  const isNamed =
    /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text) ||
    /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/.test(text)
  const isOfC = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/.test(text)
  if (!isNamed && !isOfC) return undefined
  const at = Date.parse(isOfC ? `${text} GMT` : text)
  return Number.isNaN(at) ? undefined : at
}
