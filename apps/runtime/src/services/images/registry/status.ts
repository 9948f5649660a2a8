/** An answer with another status than a successful one, as the cause of an error. */
import type { Answer } from './http-get.ts'

/** Statuses after which the same request may succeed (RFC 9110 § 15, RFC 6585 § 4). */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

export class UnexpectedStatus extends Error {
  readonly status: number
  /** Whether the same request may succeed later. */
  readonly isPassing: boolean
  /** From a `Retry-After` in seconds (RFC 9110 § 10.2.3); a date is ignored. */
  readonly retryAfterMs: number | undefined

  /** @param asked origin of the request: a storage host that it redirected to refuses a signed URL that has expired */
  constructor({ status, headers, origin }: Pick<Answer, 'status' | 'headers' | 'origin'>, asked: string) {
    super(`it answered ${status}`)
    this.status = status
    this.isPassing = passing.has(status) || (origin !== asked && (status === 400 || status === 403))
    const after = headers['retry-after']
    this.retryAfterMs = after !== undefined && /^\d{1,9}$/.test(after) ? Number(after) * 1000 : undefined
  }
}
