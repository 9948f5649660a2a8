/** Whether the issuer of a lease answers now. It is asked for its list of revoked tokens, which is what a lease depends on. */
import { shareRun } from '@selvedge/service-kit/share'
import type { Revocations } from '../tokens/revocations.ts'

export interface Reachability {
  /** @returns whether the issuer confirms its list now. Resolves within three seconds. Never rejects */
  isReachable(issuer: string): Promise<boolean>
}

/** Milliseconds: until an answer has to come, and for which it is not asked for again after it did not come. */
const times = { timeoutMs: 3000, pauseMs: 10_000 }

export function createReachability(
  revocations: Pick<Revocations, 'fetchNow' | 'knowledgeOf'>,
  monotonic: () => number,
): Reachability {
  let begunAt = Number.NEGATIVE_INFINITY
  let pausedUntil = Number.NEGATIVE_INFINITY

  const attempt = shareRun(async () => {
    begunAt = monotonic()
    let timer: NodeJS.Timeout | undefined
    // A list that arrives later decides from then on.
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, times.timeoutMs)
    })
    await Promise.race([revocations.fetchNow().catch(() => undefined), late])
    clearTimeout(timer)
  }, 'reachability of the identity service')

  return {
    async isReachable(issuer) {
      if (attempt.present() || monotonic() >= pausedUntil) await attempt()
      const isConfirmed = revocations.knowledgeOf(issuer).confirmedAt >= begunAt
      if (!isConfirmed) pausedUntil = begunAt + times.pauseMs
      return isConfirmed
    },
  }
}
