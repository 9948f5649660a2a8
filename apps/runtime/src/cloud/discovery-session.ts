/**
 * The session of this node with the discovery service. It begins with a statement of how things are here; when those change,
 * another one begins.
 */

import { type AuthorizeRequest, type DiscoveryClient, OAuthFailure } from '@selvedge/client'
import {
  discoveryPaths,
  fitStatements,
  type NodeService,
  RpcError,
  type SessionRequest,
} from '@selvedge/protocol'
import { discoveryAudience, parseJws } from '@selvedge/protocol/tokens'
import { shareRun } from '@selvedge/service-kit/share'
import { createProof, offerSession } from '@selvedge/service-kit/tokens'
import type { NodeKey } from '../node/node-key.ts'
import type { StateStore } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import type { EdgeTokens } from './edge-tokens.ts'

export interface DiscoverySession {
  /**
   * Does one piece of work with the session; where the service does not know it any more, once more with another one.
   *
   * @throws RpcError | OAuthFailure | ConnectionFailure
   */
  use<T>(work: (authorize: AuthorizeRequest) => Promise<T>): Promise<T>
  /** Starts a new session with the next request, because something that the node stated has changed. */
  restate(): void
  /** Milliseconds within which the service expects the next report, from its last response. */
  reportWithin(): number
}

export interface DiscoverySessionParts {
  readonly url: string
  readonly client: DiscoveryClient
  readonly key: NodeKey
  readonly tokens: EdgeTokens
  readonly state: StateStore
  readonly clock: DeviceClock
  readonly addresses: () => readonly string[]
  readonly services: () => readonly NodeService[]
}

/** Milliseconds before its end at which a session is not used any more. */
const margin = 30_000
/** What holds until the service has said. */
const usualReport = 120_000

export function createDiscoverySession(parts: DiscoverySessionParts): DiscoverySession {
  const { client, key, tokens, state, clock, url } = parts
  let current:
    | { readonly authorize: AuthorizeRequest; readonly endsAt: number; readonly accountId: string }
    | undefined
  let reportWithin = usualReport
  /** Counts statements: a session that was being begun while things changed is not kept. */
  let statement = 0

  async function begin(): Promise<AuthorizeRequest> {
    const token = await tokens.get(discoveryAudience)
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
    const answer = await client.beginSession(request, token, (nonce, body) =>
      createProof({ key: privateKey, jwk, htm: 'POST', htu, clock, nonce, accessToken: token, body }),
    )
    const { authorize, open } = offer.complete(answer, clock.monotonic)
    if (own === statement)
      current = { authorize, endsAt: clock.monotonic() + answer.expires_in * 1000 - margin, accountId }
    reportWithin = answer.report_within * 1000
    const secret = open(answer.account_key)?.toString('base64url')
    if (secret !== undefined && secret !== state.value.accountKey?.key && state.value.accountId === accountId)
      await state.update((value) =>
        value.accountId === accountId ? { ...value, accountKey: { accountId, key: secret } } : value,
      )
    return authorize
  }

  const beginning = shareRun(begin)

  function authorizer(): Promise<AuthorizeRequest> | AuthorizeRequest {
    // Data of one account is never sent in a session of another.
    const isGood = current?.accountId === state.value.accountId && current.endsAt > clock.monotonic()
    if (current && isGood) return current.authorize
    return beginning()
  }

  return {
    async use(work) {
      try {
        return await work(await authorizer())
      } catch (cause) {
        if (!(cause instanceof OAuthFailure) || cause.reason !== 'invalid_token') throw cause
        current = undefined
        tokens.forget()
        return work(await authorizer())
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
