/** Sends one report: the newest fix, and fixes of a track that were replaced before they were sent. */
import { type AuthorizeRequest, type DiscoveryClient, OAuthFailure } from '@selvedge/client'
import { type FixInput, readGpsSignal } from '@selvedge/protocol'
import type { Log } from '@selvedge/service-kit/log'
import type { DiscoverySession } from '../../device/cloud/discovery-session.ts'
import type { StoredFix } from '../../device/state.ts'
import type { Track } from './publisher-track.ts'

export interface SendParts {
  readonly client: DiscoveryClient
  readonly session: DiscoverySession
  readonly log: Log
  readonly track: Track
  /** The present account. Drops what belongs to a former one. */
  readonly account: () => string
  /** Called if the service refused the newest fix, alone in its report. */
  readonly onRefused: (fix: StoredFix) => void
  /** Gets each request that has begun, and returns it. */
  readonly follow: <T>(request: Promise<T>) => Promise<T>
}

/**
 * @returns false if these fixes are not sent again: the service refused them and would again, or the device changed hands
 * @throws SelvedgeError, RpcError if they are to be sent again
 */
export async function sendReport(parts: SendParts, newest: StoredFix | null): Promise<boolean> {
  const { client, session, track, account } = parts
  const accountId = account()
  const earlier = track.take()
  const fixes = [...earlier, ...(newest ? [newest] : [])].map(toReport)
  let refusal: OAuthFailure | undefined
  const report = (authorize: AuthorizeRequest) =>
    parts.follow(client.report(fixes, authorize)).catch((cause: unknown) => {
      // Only a refusal of the report itself counts: the session may be refused with the same reason.
      if (cause instanceof OAuthFailure && cause.reason === 'invalid_request') refusal = cause
      throw cause
    })
  try {
    await session.use('background', report)
    track.sent()
    return true
  } catch (cause) {
    // The fixes of a former account are dropped.
    if (account() !== accountId) return false
    if (cause === refusal && dropRefused(parts, earlier, newest, cause as OAuthFailure)) return false
    track.putBack(earlier)
    throw cause
  }
}

/** Drops the earlier fixes of a refused report; without any, the newest one. @returns whether one of them was dropped */
function dropRefused(
  { log, onRefused }: SendParts,
  earlier: readonly StoredFix[],
  newest: StoredFix | null,
  cause: Error,
): boolean {
  if (earlier.length === 0 && !newest) return false
  log.warn('the discovery service refused fixes', { fixes: earlier.length || 1, reason: cause.message })
  if (earlier.length === 0 && newest) onRefused(newest)
  return true
}

const toReport = ({ signal, fixedAt, source, accuracy }: StoredFix): FixInput => ({
  ...readGpsSignal(signal, []),
  fixedAt,
  source,
  ...(accuracy !== null && { accuracy }),
})
