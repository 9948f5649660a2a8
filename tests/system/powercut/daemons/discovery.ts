/** The discovery service on SQLite: what nodes say of themselves, and their tracks. Last locations it writes behind, by promise. */
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { createDiscoveryClient, createIdentityClient, type DiscoveryClient } from '@selvedge/client'
import { defaultSharing, discoveryPaths, identityPaths } from '@selvedge/protocol'
import { discoveryAudience, publicJwk } from '@selvedge/protocol/tokens'
import { systemClock as clock } from '@selvedge/service-kit/clock'
import { openStateFolder } from '@selvedge/service-kit/store'
import { createProof, offerSession } from '@selvedge/service-kit/tokens'
import { migrations } from '../../../../apps/discovery/src/schema.ts'
import type { Developer } from '../../../harness/flow.ts'
import { stepLimitMs } from '../../../harness/limits.ts'
import type { PartView, Subject, View } from '../subject.ts'
import { readDatabase, type Tables } from './database.ts'
import { type Recorded, recordDaemon } from './record-daemon.ts'
import { startOn } from './start.ts'
import { withIdentity } from './with-identity.ts'

async function read(folder: string): Promise<PartView> {
  const own = openStateFolder(join(folder, 'state'), 'discovery', () => undefined)
  return readDatabase(join(own, 'locations.db'), migrations)
}

const rows = (view: View, table: string) => (view.discovery as Tables)[table] ?? []

export const createDiscoverySubject = (extent: { readonly rounds: number }): Subject => ({
  name: 'discovery',
  parts: [{ name: 'discovery', owns: (path) => path.startsWith('state/discovery/'), read }],
  contradictions: () => [],
  record: (life) =>
    withIdentity(({ identity, developer }) =>
      recordDaemon('discovery', { ...life, env: { SELVEDGE_IDENTITY_URL: identity.url } }, (recorded) =>
        work(recorded, identity.url, developer, extent.rounds),
      ),
    ),
  start: (folder) =>
    startOn('discovery', folder, async (url) => {
      const { status } = await fetch(url + discoveryPaths.health)
      return status === 200 ? [] : [`its health is ${status}`]
    }),
})

async function work(
  { url, witness }: Recorded,
  identityUrl: string,
  developer: Developer,
  rounds: number,
): Promise<void> {
  const client = createDiscoveryClient({ url, fetch: witness.fetch, timeoutMs: stepLimitMs })
  for (let round = 1; round <= rounds; round++) {
    const device = await createDevice(identityUrl, developer)
    for (let turn = 1; turn <= 3; turn++) {
      const trackUntil = clock.now() + turn * 3_600_000
      const session = await device.begin(client, url, trackUntil)
      await witness.acknowledged(`node ${device.nodeId} keeps a track`, device.nodeId, (view) =>
        rows(view, 'nodes').some((row) => row.node_id === device.nodeId && row.track_until === trackUntil),
      )
      for (let at = 0; at < 4; at++) {
        const fixedAt = clock.now() - 1000 + at
        await client.report(
          [{ longitude: 1, latitude: at, speed: 0, bearing: 0, fixedAt, source: 'api' }],
          session,
        )
        await witness.acknowledged(`a point of ${device.nodeId}`, `${device.nodeId} ${fixedAt}`, (view) =>
          rows(view, 'tracks').some((row) => row.node_id === device.nodeId && row.fixed_at === fixedAt),
        )
      }
    }
  }
}

interface Device {
  readonly nodeId: string
  begin(
    discovery: DiscoveryClient,
    url: string,
    trackUntil: number,
  ): Promise<(method: string, path: string, body: string) => string>
}

/** A device of the developer's account, known to the identity service. */
async function createDevice(
  identityUrl: string,
  { accountId, clientId, idToken }: Developer,
): Promise<Device> {
  const identity = createIdentityClient({ url: identityUrl, timeoutMs: stepLimitMs })
  const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
  const node = { name: 'device', hmac_key: jwk }
  const edgeToken = (more: object) =>
    identity.edgeToken((nonce) =>
      createProof({
        ...{ key, jwk, htm: 'POST', htu: identityUrl + identityPaths.edgeToken, clock, nonce },
        node: { ...node, ...more },
      }),
    )
  const { id_token: edgeIdToken } = await edgeToken({})
  const { access_token } = await identity.exchange({
    clientId,
    developerIdToken: idToken,
    edgeIdToken,
    scope: 'openid edge:account:associate',
  })
  const account = { id: accountId, access_token }
  const { id_token } = await edgeToken({ account, audience: discoveryAudience })
  const { node_id: nodeId } = JSON.parse(Buffer.from(id_token.split('.')[1]!, 'base64url').toString())
  return {
    nodeId,
    async begin(discovery, url, trackUntil) {
      const offer = offerSession()
      const request = { key: offer.jwk, addresses: [], services: [], sharing: defaultSharing, trackUntil }
      const session = await discovery.beginSession(request, id_token, (nonce, body) =>
        createProof({
          ...{ key, jwk, htm: 'POST', htu: url + discoveryPaths.sessions, clock },
          ...{ nonce, accessToken: id_token, body },
        }),
      )
      return offer.complete(session, () => performance.now()).authorize
    },
  }
}
