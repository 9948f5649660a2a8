/** Token buckets on the monotonic clock: how many packets of each sender, and of all senders together, are handled. */

/** Allows `burst` at once, and `perSecond` from then on. */
export interface Rate {
  readonly burst: number
  readonly perSecond: number
}

export interface Budget {
  /** Uses one token of a sender. @returns false if the sender, or all of them together, have no token left */
  take(sender: string): boolean
}

interface Bucket {
  tokens: number
  /** Milliseconds of the monotonic clock. */
  at: number
}

/** Maximum senders with a bucket. A dropped one starts with a full bucket; `all` still limits it. */
const maxSenders = 1000

export function createBudget({ each, all }: { readonly each: Rate; readonly all: Rate }): Budget {
  const total: Bucket = { tokens: all.burst, at: performance.now() }
  /** The longest unused first. */
  const senders = new Map<string, Bucket>()

  function bucketOf(sender: string, now: number): Bucket {
    const bucket = senders.get(sender) ?? { tokens: each.burst, at: now }
    senders.delete(sender)
    senders.set(sender, bucket)
    if (senders.size > maxSenders) senders.delete(senders.keys().next().value!)
    return bucket
  }

  return {
    take(sender) {
      const now = performance.now()
      const own = bucketOf(sender, now)
      refill(own, each, now)
      refill(total, all, now)
      if (own.tokens < 1 || total.tokens < 1) return false
      own.tokens--
      total.tokens--
      return true
    },
  }
}

function refill(bucket: Bucket, { burst, perSecond }: Rate, now: number): void {
  bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond)
  bucket.at = now
}
