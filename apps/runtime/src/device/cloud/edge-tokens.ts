/**
 * Edge ID tokens from the identity service. One idempotent request enrols the node, reports the account, agrees on the HMAC secret,
 * and returns the time and a token.
 */
import { ConnectionFailure, isSelvedgeError } from '@selvedge/client'
import { RpcError, version } from '@selvedge/protocol'
import type { NodeStatement } from '@selvedge/protocol/tokens'
import { waitAtMost } from '@selvedge/service-kit/share'
import { traced } from '@selvedge/service-kit/trace'
import { noAnswer, requestLimitMs, waitLimitMs } from '../time-limits.ts'
import { type AccountReportParts, createAccountReport } from './account-report.ts'
import {
  createEdgeTokenRequest,
  type EdgeTokenRequestParts,
  type RequestEdgeToken,
} from './edge-token-request.ts'

export interface EdgeTokens {
  /**
   * A token for the tenants, or for another audience. Cached until a minute before it expires.
   *
   * @param by a local caller, who waits for 4 s at most, while the request continues; or work that no caller waits for
   * @throws RpcError `identity_unavailable`
   */
  get(audience?: string, by?: 'caller' | 'background'): Promise<string>
  /** Reports the current state to the cloud. */
  report(): Promise<void>
  /** Removes cached tokens: they carry a former account. */
  forget(): void
  /** @param listener called when the owner removed the account from this node at the registry, at each report until it is gone */
  onAccountRemoved(listener: (accountId: string) => void): void
}

/** A cached token is not returned in the last minute before it expires. */
const expiryMarginMs = 60_000

export interface EdgeTokenParts extends EdgeTokenRequestParts, AccountReportParts {
  readonly name: string
  readonly enrolmentCode: string
  /** What runs here, for the owner to see. */
  readonly services: () => NonNullable<NodeStatement['services']>
  /** Adds the join key to requests while the device has to join. */
  readonly withJoinKey: (request: RequestEdgeToken) => RequestEdgeToken
}

/** A request that is under way. */
interface Run {
  readonly token: Promise<string>
  /** The same for callers that wait: rejects after `waitLimitMs`. */
  readonly waited: Promise<string>
}

interface CachedToken {
  readonly token: string
  /** Monotonic milliseconds, including the time in which the device slept. */
  readonly expiresAt: number
}

export function createEdgeTokens(parts: EdgeTokenParts): EdgeTokens {
  const { key, url, state, clock, link } = parts
  const request = parts.withJoinKey(createEdgeTokenRequest(parts))
  const account = createAccountReport(parts)
  const tokens = new Map<string, CachedToken>()
  const running = new Map<string, Run>()

  const statement = (audience: string): NodeStatement => ({
    name: parts.name,
    hmac_key: key.agreement.jwk,
    version,
    services: parts.services(),
    ...(audience !== '' && { audience }),
    ...(parts.enrolmentCode !== '' && { enrolment_code: parts.enrolmentCode }),
  })

  async function fetchToken(audience: string): Promise<string> {
    const reported = state.value.report
    const answer = await account.send(request, statement(audience))
    // A token of a former account is returned once, and not cached.
    if (account.learn(answer, reported))
      tokens.set(audience, { token: answer.id_token, expiresAt: clock.elapsed() + answer.expires_in * 1000 })
    return answer.id_token
  }

  /** Concurrent calls for an audience share one request. */
  function fetchOnce(audience: string): Run {
    const known = running.get(audience)
    if (known) return known
    const run: Run = begin(
      parts,
      traced('shared', 'edge ID token', () => fetchToken(audience)).finally(() => {
        if (running.get(audience) === run) running.delete(audience)
      }),
    )
    running.set(audience, run)
    return run
  }

  function unavailable(cause: unknown): RpcError {
    const { message, isRefused } = explain(cause, url)
    link.failed(message)
    const detail = isRefused ? `the identity service refused this node: ${message}` : message
    return new RpcError('identity_unavailable', detail, { cause })
  }

  return {
    async get(audience = '', by = 'caller') {
      const known = tokens.get(audience)
      const leftMs = known ? known.expiresAt - clock.elapsed() : 0
      if (known && leftMs > expiryMarginMs) return known.token
      try {
        const { token, waited } = fetchOnce(audience)
        return await (by === 'caller' ? waited : token)
      } catch (cause) {
        const error = unavailable(cause)
        if (known && leftMs > 0 && tokens.get(audience) === known) return known.token
        throw error
      }
    },
    async report() {
      await begin(parts, fetchToken('')).token.catch((cause: unknown) => {
        throw unavailable(cause)
      })
    },
    forget() {
      tokens.clear()
      running.clear()
    },
    onAccountRemoved: account.onAccountRemoved,
  }
}

/** After `waitLimitMs` without an answer, the service counts as away. */
function begin({ url, link }: Pick<EdgeTokenParts, 'url' | 'link'>, token: Promise<string>): Run {
  const late = () => {
    const message = noAnswer(url, waitLimitMs)
    link.failed(message)
    return new ConnectionFailure('timeout', message)
  }
  return { token, waited: waitAtMost(token, waitLimitMs, late) }
}

/** Why a request failed, for the caller. @throws the cause if it is no failure of a request */
function explain(cause: unknown, url: string): { readonly message: string; readonly isRefused: boolean } {
  if (!isSelvedgeError(cause)) throw cause
  const isLate = cause instanceof ConnectionFailure && cause.reason === 'aborted'
  const message = isLate ? noAnswer(url, requestLimitMs) : cause.message
  return { message, isRefused: cause.kind === 'oauth' }
}
