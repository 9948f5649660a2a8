/** Each virtual device has a key of its own, which follows from the seed, tokens of its own, and a session of its own. */
import { createECDH, createPrivateKey, hkdfSync, type KeyObject } from 'node:crypto'
import { type AuthorizeRequest, createDiscoveryClient, createIdentityClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { defaultSharing, discoveryPaths, identityPaths, type Sharing } from '@selvedge/protocol'
import { discoveryAudience, type PublicJwk } from '@selvedge/protocol/tokens'
import type { Clock } from '@selvedge/service-kit/clock'
import { createProof, offerSession } from '@selvedge/service-kit/tokens'

export interface Owner {
  readonly accountId: string
  readonly clientId: string
  readonly idToken: string
}

export interface Enrolment {
  /** Creates a device, up to its session with the discovery service. */
  enrol(device: number): Promise<AuthorizeRequest>
}

export interface EnrolmentParts {
  readonly identityUrl: string
  readonly discoveryUrl: string
  readonly owner: Owner
  readonly seed: string
  readonly clock: Clock
  /** So many of the devices are seen by others, to a kilometre. */
  readonly shared: number
  /** Whether all of the devices are new. */
  readonly isNew: boolean
}

export function createEnrolment({
  identityUrl,
  discoveryUrl,
  owner,
  seed,
  clock,
  shared,
  isNew,
}: EnrolmentParts): Enrolment {
  const fetch = createNodeFetch()
  const identity = createIdentityClient({ url: identityUrl, fetch, timeoutMs: 60_000 })
  const discovery = createDiscoveryClient({ url: discoveryUrl, fetch, timeoutMs: 60_000 })
  const htu = { edge: identityUrl + identityPaths.edgeToken, session: discoveryUrl + discoveryPaths.sessions }

  return {
    async enrol(device) {
      const { key, jwk } = keyOf(seed, device)
      const node = { name: `virtual ${device}`, hmac_key: jwk }
      const edgeToken = (more: object) =>
        identity.edgeToken((nonce) =>
          createProof({ key, jwk, htm: 'POST', htu: htu.edge, clock, nonce, node: { ...node, ...more } }),
        )
      let answer = isNew ? undefined : await edgeToken({ audience: discoveryAudience })
      if (answer?.account_id !== owner.accountId) {
        const { id_token: edgeIdToken } = await edgeToken({})
        const { access_token } = await identity.exchange({
          clientId: owner.clientId,
          developerIdToken: owner.idToken,
          edgeIdToken,
          scope: 'openid edge:account:associate',
        })
        const account = { id: owner.accountId, access_token }
        answer = await edgeToken({ account, audience: discoveryAudience })
      }
      const { id_token } = answer
      const offer = offerSession()
      const isShared = device < shared
      const sharing: Sharing = isShared ? { ...defaultSharing, others: '1km' } : defaultSharing
      const request = { key: offer.jwk, addresses: [], services: [], sharing, trackUntil: 0 }
      const session = await discovery.beginSession(request, id_token, (nonce, body) =>
        createProof({
          key,
          jwk,
          htm: 'POST',
          htu: htu.session,
          clock,
          nonce,
          accessToken: id_token,
          body,
        }),
      )
      return offer.complete(session, () => performance.now()).authorize
    },
  }
}

/** A P-256 key that follows from the seed, so that the same fleet comes back with the same identities. */
function keyOf(seed: string, device: number): { key: KeyObject; jwk: PublicJwk } {
  const pair = createECDH('prime256v1')
  const secret = Buffer.from(hkdfSync('sha256', seed, 'selvedge simulator', `device ${device}`, 32))
  pair.setPrivateKey(secret)
  const point = pair.getPublicKey()
  const jwk = {
    kty: 'EC' as const,
    crv: 'P-256' as const,
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  }
  const d = secret.toString('base64url')
  return { key: createPrivateKey({ key: { ...jwk, d }, format: 'jwk' }), jwk }
}
