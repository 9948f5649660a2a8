import { OAuthError } from '@selvedge/protocol'
import { RecentMap } from '../tokens/recent-map.ts'

/** Lets `burst` requests of one key through at once, and `perSecond` of them from then on. */
export interface Rate {
  readonly burst: number
  readonly perSecond: number
}

export interface Limiter {
  /** Uses one of a key's requests. @returns 0, or the seconds until the next one is allowed */
  take(key: string): number
  /** Refunds one request that turned out to be harmless. */
  giveBack(key: string): void
}

/** Maximum keys in memory, so that a client with many addresses cannot fill it. */
const remembered = 100_000

/**
 * A rate limit: a token bucket for each key, in the memory of one process.
 *
 * @param replicas how many processes share the callers: each allows its part of the rate
 * @param now milliseconds since any moment, which only grow: the clock of the system jumps when it is set
 */
export function createLimiter(
  rate: Rate,
  now = () => performance.now(),
  replicas: () => number = () => 1,
): Limiter {
  const buckets = new RecentMap<string, { left: number; at: number }>(remembered)
  return {
    take(key) {
      const at = now()
      const count = replicas()
      const perSecond = rate.perSecond / count
      const burst = Math.max(1, rate.burst / count)
      let bucket = buckets.get(key)
      if (!bucket) buckets.set(key, (bucket = { left: burst, at }))
      const earned = ((at - bucket.at) / 1000) * perSecond
      bucket.left = Math.min(burst, bucket.left + earned)
      bucket.at = at
      if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / perSecond))
      bucket.left--
      return 0
    },
    giveBack(key) {
      const bucket = buckets.get(key)
      if (bucket) bucket.left = Math.min(rate.burst, bucket.left + 1)
    },
  }
}

/** @throws OAuthError `temporarily_unavailable` (HTTP 429) if the key has reached its limit */
export const takeOrRefuse = (limiter: Limiter, key: string, what: string): void =>
  refuseIf(limiter.take(key), what)

/** @param retryAfter seconds; 0: it is not refused @throws OAuthError `temporarily_unavailable` (HTTP 429) */
export function refuseIf(retryAfter: number, what: string): void {
  if (retryAfter === 0) return
  const message = `too many requests of ${what}; come back in ${retryAfter} s`
  throw new OAuthError('temporarily_unavailable', message, { retryAfter })
}
