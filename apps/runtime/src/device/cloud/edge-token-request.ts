/** One request for an edge ID token, with a proof of the node's key, and the signed time in its answer. */
import { randomBytes, randomUUID } from 'node:crypto'
import type { IdentityClient } from '@selvedge/client'
import { type EdgeTokenResponse, identityPaths } from '@selvedge/protocol'
import type { DeviceVitals, JoinClaim, NodeStatement } from '@selvedge/protocol/tokens'
import type { Log } from '@selvedge/service-kit/log'
import type { Learned } from '@selvedge/service-kit/store'
import { createProof, type Issuer, verifySignedTime } from '@selvedge/service-kit/tokens'
import type { Leases } from '../leases/leases.ts'
import type { NodeKey } from '../node/node-key.ts'
import type { RuntimeState, StateStore } from '../state.ts'
import type { DeviceClock } from '../time/device-clock.ts'
import { requestLimitMs } from '../time-limits.ts'
import type { Link } from './link.ts'
import { createTimeFloor } from './time-floor.ts'

/** Bytes of a proof of at most 8192 characters for what the node states and the URL of the request: the rest has a fixed length. */
const proofRoomBytes = 5500

export interface EdgeTokenRequestParts {
  readonly key: NodeKey
  readonly nodeId: string
  /** The identity service as an issuer: it signs the time. */
  readonly issuer: Issuer
  readonly url: string
  readonly client: IdentityClient
  readonly state: StateStore
  readonly learned: Learned<RuntimeState>
  readonly clock: DeviceClock
  readonly link: Link
  readonly log: Log
  /** What the device states beside its registration, in so many bytes as JSON. Never rejects. */
  readonly vitals: (roomBytes: number) => Promise<DeviceVitals | null | undefined>
  /** Who worked on a lease. Undefined: not known yet. */
  readonly leases?: () => Pick<Leases, 'unreported' | 'reported'> | undefined
}

/** @param join by which key the node joins an account @throws OAuthFailure, ConnectionFailure */
export type RequestEdgeToken = (statement: NodeStatement, join?: JoinClaim) => Promise<EdgeTokenResponse>

export function createEdgeTokenRequest(parts: EdgeTokenRequestParts): RequestEdgeToken {
  const { key, url, client, state, learned, clock, link, log } = parts
  // In memory alone: with a copy of the disk, another start has another ID.
  const startId = randomBytes(16).toString('base64url')
  let count = 0
  const storeTime = createTimeFloor(state, learned, clock)

  /** Accepts a time only if the identity service signed it for the nonce of this request: any other may be forged or replayed. */
  async function learnTime(
    token: string,
    nonce: string,
    at: { readonly sentAt: number; readonly answeredAt: number },
  ): Promise<void> {
    try {
      clock.learn(await verifySignedTime(token, parts.issuer, { nonce, nodeId: parts.nodeId }), at)
      storeTime()
    } catch (cause) {
      log.warn('the time of the identity service is not believed', { cause })
    }
  }

  return async (statement, join) => {
    const { privateKey, jwk } = key.signing
    const htu = url + identityPaths.edgeToken
    const timeNonce = randomUUID()
    const node = { ...statement, time_nonce: timeNonce }
    const leases = parts.leases?.()
    const uses = leases?.unreported()
    const start = { id: startId, count: ++count }
    const beside = [uses, join, start].map((each) => (each ? JSON.stringify(each) : '')).join('')
    const stated = htu + JSON.stringify(node) + beside
    const vitals = await parts.vitals(proofRoomBytes - Buffer.byteLength(stated))
    const prove = (nonce: string | undefined) =>
      createProof({
        key: privateKey,
        jwk,
        htm: 'POST',
        htu,
        clock,
        nonce,
        node,
        vitals,
        leases: uses,
        join,
        start,
      })
    const sentAt = clock.monotonic()
    const answer = await client.edgeToken(prove, { signal: AbortSignal.timeout(requestLimitMs) })
    link.succeeded()
    if (uses)
      // Otherwise it is reported once more.
      await leases
        ?.reported(uses)
        .catch((cause) => log.warn('the record of leases could not be changed', { cause }))
    if (answer.time_token !== undefined)
      await learnTime(answer.time_token, timeNonce, { sentAt, answeredAt: clock.monotonic() })
    return answer
  }
}
