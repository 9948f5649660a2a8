/**
 * The session of this node with the discovery service. It begins with a statement of how things are here; when those change,
 * another one begins.
 */

import {
  type AuthorizeRequest,
  ConnectionFailure,
  type DiscoveryClient,
  OAuthFailure,
} from '@selvedge/client'
import {
  discoveryPaths,
  discoveryReportSeconds,
  fitStatements,
  type NodeService,
  RpcError,
  type SessionRequest,
} from '@selvedge/protocol'
import { discoveryAudience, parseJws } from '@selvedge/protocol/tokens'
import { shareRun, waitAtMostFor } from '@selvedge/service-kit/share'
import type { Learned } from '@selvedge/service-kit/store'
import { createProof, offerSession } from '@selvedge/service-kit/tokens'
import type { NodeKey } from '../node/node-key.ts'
import type { RuntimeState, StateStore } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import { noAnswer, showLate, waitLimitMs } from '../time-limits.ts'
import type { EdgeTokens } from './edge-tokens.ts'
import type { Link } from './link.ts'

export interface DiscoverySession {
  /**
   * Does one piece of work with the session of the account that is associated now. If the service does not know the session any
   * more, the work is done once more with another one.
   *
   * @param by a local caller, who waits for the session for 4 s at most; or work that no caller waits for
   * @throws RpcError `wrong_account` if the account changed before the session was there
   * @throws RpcError | OAuthFailure | ConnectionFailure
   */
  use<T>(by: 'caller' | 'background', work: (authorize: AuthorizeRequest) => Promise<T>): Promise<T>
  /** Starts a new session with the next request, because something that the node stated has changed. */
  restate(): void
  /** Milliseconds within which the service expects the next report, from its last response. */
  reportWithin(): number
}

export interface DiscoverySessionParts {
  readonly url: string
  readonly client: DiscoveryClient
  readonly link: Pick<Link, 'failed'>
  readonly key: NodeKey
  readonly tokens: EdgeTokens
  readonly state: StateStore
  readonly learned: Learned<RuntimeState>
  readonly clock: DeviceClock
  readonly addresses: () => readonly string[]
  readonly services: () => readonly NodeService[]
}

/** A session, and its account. */
interface Begun {
  readonly authorize: AuthorizeRequest
  readonly endsAt: number
  readonly accountId: string
}

/** Milliseconds before its end at which a session is not used any more. */
const expiryMarginMs = 30_000

export function createDiscoverySession(parts: DiscoverySessionParts): DiscoverySession {
  const { client, link, key, tokens, state, learned, clock, url } = parts
  let current: Begun | undefined
  /** Milliseconds; the default until the service sends its own. */
  let reportWithin = discoveryReportSeconds * 1000
  /** Counts statements: a session that was requested before a change is not used. */
  let statement = 0

  async function begin(): Promise<Begun> {
    const token = await tokens.get(discoveryAudience, 'background')
    const { sharing, trackUntil, accountId } = state.value
    if (parseJws(token).payload.sub !== accountId)
      throw new RpcError('discovery_unavailable', 'the identity service knows this node with another account')
    const offer = offerSession()
    const own = statement
    const request: SessionRequest = {
      key: offer.jwk,
      ...fitStatements({ addresses: parts.addresses(), services: parts.services() }),
      sharing,
      // As it was asked for: 0 deletes the track, and the clock of this device may be wrong for a while.
      trackUntil,
    }
    const { privateKey, jwk } = key.signing
    const htu = url + discoveryPaths.sessions
    const asked = client.beginSession(request, token, (nonce, body) =>
      createProof({ key: privateKey, jwk, htm: 'POST', htu, clock, nonce, accessToken: token, body }),
    )
    const answer = await showLate(link, url, asked)
    const { authorize, open } = offer.complete(answer, clock.monotonic)
    const endsAt = clock.monotonic() + answer.expires_in * 1000 - expiryMarginMs
    const session = { authorize, endsAt, accountId }
    if (own === statement) current = session
    reportWithin = answer.report_within * 1000
    const secret = open(answer.account_key)?.toString('base64url')
    if (secret !== undefined && secret !== state.value.accountKey?.key && state.value.accountId === accountId)
      learned.learn('account key', (value) =>
        value.accountId === accountId ? { ...value, accountKey: { accountId, key: secret } } : value,
      )
    return session
  }

  const beginning = shareRun(begin, 'discovery session')
  const late = () => new ConnectionFailure('timeout', noAnswer(url, waitLimitMs))
  const begun = { background: beginning, caller: waitAtMostFor(beginning, waitLimitMs, late) }

  /** Data of one account is neither sent nor read in a session of another. @throws RpcError `wrong_account` */
  async function authorizerOf(accountId: string, by: keyof typeof begun): Promise<AuthorizeRequest> {
    const isGood = current?.accountId === accountId && current.endsAt > clock.monotonic()
    const session = current && isGood ? current : await begun[by]()
    if (session.accountId !== accountId || state.value.accountId !== accountId)
      throw new RpcError('wrong_account', 'the account of this runtime changed meanwhile')
    return session.authorize
  }

  return {
    async use(by, work) {
      const { accountId } = state.value
      try {
        return await work(await authorizerOf(accountId, by))
      } catch (cause) {
        if (!(cause instanceof OAuthFailure) || cause.reason !== 'invalid_token') throw cause
        current = undefined
        tokens.forget()
        return work(await authorizerOf(accountId, by))
      }
    },
    restate() {
      statement++
      current = undefined
      beginning.forget()
    },
    reportWithin: () => reportWithin,
  }
}
