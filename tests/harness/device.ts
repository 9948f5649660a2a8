/** A device without a runtime: its key, its tokens, its session with the discovery service. */
import { generateKeyPairSync } from 'node:crypto'
import {
  type AuthorizeRequest,
  createDiscoveryClient,
  createIdentityClient,
  type DiscoveryClient,
  type Fetch,
  type IdentityClient,
} from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import {
  defaultSharing,
  discoveryPaths,
  type FixInput,
  identityPaths,
  type SessionRequest,
} from '@selvedge/protocol'
import { discoveryAudience, publicJwk } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { createProof, nodeIdOf, offerSession } from '@selvedge/service-kit/tokens'
import type { Developer } from './flow.ts'

export type Device = Awaited<ReturnType<typeof createDevice>>

/** The services of a device. */
interface DeviceUrls {
  readonly identityUrl: string
  /** Identity service that issues access tokens, if it is another one. */
  readonly tenantUrl?: string
  /** The service that it reports to; `proofUrl` if that has another name for its callers. */
  readonly discoveryUrl: string
  readonly proofUrl?: string
  readonly fetch?: Fetch
}

export async function createDevice(
  { identityUrl, tenantUrl = identityUrl, discoveryUrl, proofUrl = discoveryUrl, ...more }: DeviceUrls,
  developer: Pick<Developer, 'clientId' | 'idToken' | 'accountId'>,
  name = 'device',
) {
  const { fetch = createNodeFetch() } = more
  const key = createNodeKey()
  const { nodeId } = key
  const identity = connectIdentity(createIdentityClient({ url: identityUrl, fetch }), identityUrl, key, name)
  const { edgeToken } = identity
  const { access_token: accessToken } = await createIdentityClient({ url: tenantUrl, fetch }).exchange({
    clientId: developer.clientId,
    developerIdToken: developer.idToken,
    edgeIdToken: await edgeToken(),
    scope: 'openid edge:account:associate',
  })
  await edgeToken({ account: { id: developer.accountId, access_token: accessToken } })
  const token = await edgeToken({ audience: discoveryAudience })
  const discovery = createDiscoveryClient({ url: discoveryUrl, fetch })
  const sessions = createSessions(discovery, proofUrl, key, token)
  const { begin, authorize } = sessions

  return {
    nodeId,
    accountId: developer.accountId,
    accessToken,
    discovery,
    begin,
    authorize,
    tenantToken: () => edgeToken(),
    /** States something to the registry. @returns an edge ID token */
    state: edgeToken,
    /** The key that the nodes of its account share, of a session that begins now. */
    accountKey: async () => {
      await begin({}, await edgeToken({ audience: discoveryAudience }))
      return sessions.accountKey()
    },
    verifyHmac: identity.verifyHmac,
    report: async (fixes: FixInput | readonly FixInput[], using?: AuthorizeRequest) =>
      discovery.report(Array.isArray(fixes) ? fixes : [fixes as FixInput], using ?? (await authorize())),
    near: async (options: { radius?: number; limit?: number } = {}) =>
      (await discovery.nodes({ cluster: 'proximity', ...options }, await authorize())).data,
    account: async (options: { limit?: number; after?: string } = {}) =>
      discovery.nodes({ cluster: 'account', ...options }, await authorize()),
    track: async (of = nodeId, query = {}) => discovery.track(of, query, await authorize()),
    last: () => discovery.lastFix(nodeId, accessToken),
  }
}

export type NodeKey = ReturnType<typeof createNodeKey>

/** The key of a node that does not exist yet. */
export function createNodeKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
  return {
    nodeId: nodeIdOf(jwk),
    jwk,
    /** A DPoP proof of this key for a POST request. */
    prove: (
      htu: string,
      claims: Pick<
        Parameters<typeof createProof>[0],
        'nonce' | 'node' | 'vitals' | 'join' | 'accessToken' | 'body'
      >,
    ) => createProof({ key: privateKey, jwk, htm: 'POST', htu, clock: systemClock, ...claims }),
  }
}

/** The requests of a device to its identity service. */
const connectIdentity = (
  identity: IdentityClient,
  url: string,
  { nodeId, jwk, prove }: NodeKey,
  name: string,
) => ({
  edgeToken: async (more: object = {}): Promise<string> => {
    const node = { name, hmac_key: jwk, ...more }
    return (await identity.edgeToken((nonce) => prove(url + identityPaths.edgeToken, { nonce, node })))
      .id_token
  },
  verifyHmac: (edgeIdToken: string) =>
    identity.verifyHmac({ edgeHmacCode: 'x', nodeId, uri: 'x' }, edgeIdToken, (nonce) =>
      prove(url + identityPaths.verifyHmac, { nonce, accessToken: edgeIdToken }),
    ),
})

/** The sessions of a device with the discovery service, and the key of its account. @param token an edge ID token */
function createSessions(discovery: DiscoveryClient, proofUrl: string, { prove }: NodeKey, token: string) {
  let session: AuthorizeRequest | undefined
  let accountKey = ''

  async function begin(
    more: Partial<SessionRequest> = {},
    shown = token,
    signedBody?: string,
  ): Promise<AuthorizeRequest> {
    const offer = offerSession()
    const request = {
      key: offer.jwk,
      addresses: [],
      services: [],
      sharing: defaultSharing,
      trackUntil: 0,
      ...more,
    }
    const answer = await discovery.beginSession(request, shown, (nonce, body) =>
      prove(proofUrl + discoveryPaths.sessions, { nonce, accessToken: shown, body: signedBody ?? body }),
    )
    const { authorize, open } = offer.complete(answer, () => performance.now())
    session = authorize
    accountKey = Buffer.from(open(answer.account_key) ?? []).toString('hex')
    return session
  }
  return { begin, authorize: async () => session ?? begin(), accountKey: () => accountKey }
}

let times = 0

/** A fix of now; each later than the one before. */
export const fixAt = (longitude: number, latitude: number, more: Partial<FixInput> = {}): FixInput => {
  times = Math.max(times + 1, Date.now())
  return { longitude, latitude, speed: 0, bearing: 0, fixedAt: times, ...more }
}
