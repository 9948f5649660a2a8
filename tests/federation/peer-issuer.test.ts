/** ID tokens of an OpenID provider that we did not write, from a sign-in by a client that we did not write. */
import { createIdentityClient, type OAuthFailure } from '@selvedge/client'
import { parseJws, type SignatureAlgorithm } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { type PeerIssuer, startPeerIssuer } from '../harness/oidc-provider.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
let developer: Developer
let peer: PeerIssuer
let edge: string

beforeAll(async () => {
  stack = await startStack()
  developer = await createDeveloper(stack.state)
  peer = await startPeerIssuer()
  edge = (await runtimeOf(stack).getEdgeIdToken()).id_token
})
afterAll(async () => {
  await peer?.stop()
  await stack?.stop()
})

const exchange = (idToken: string) =>
  createIdentityClient({ url: stack.identity.url }).exchange({
    clientId: developer.clientId,
    developerIdToken: idToken,
    edgeIdToken: edge,
    scope: 'edge:mcm',
  })

const trust = (algorithm: SignatureAlgorithm, as: 'person' | 'workload') =>
  adminOf(stack.state)['issuer.add']({
    clientId: developer.clientId,
    issuer: peer.url,
    audiences: [algorithm],
    conditions: [{ claim: 'groups', value: 'deployers' }],
    scopes: ['edge:mcm'],
    as,
    algorithms: [algorithm],
    allowsPrivate: true,
  })

it.each(['RS256', 'PS256', 'ES256', 'EdDSA'] as const)(
  'an ID token with %s is accepted',
  async (algorithm) => {
    await trust(algorithm, 'workload')
    const { access_token } = await exchange(await peer.signIn(algorithm, 'robot-7'))
    expect(parseJws(access_token).payload.sub).toBe(`${peer.url}#robot-7`)
  },
)

it('an ID token for another client of the same provider is not', async () => {
  await adminOf(stack.state)['issuer.remove']({ issuer: peer.url, clientId: null })
  await trust('ES256', 'workload')
  const refused = await exchange(await peer.signIn('RS256', 'robot-7')).catch((cause: OAuthFailure) => cause)
  expect(refused).toMatchObject({ reason: 'invalid_grant' })
})

it('a person who is linked acts as a member of the account', async () => {
  const admin = adminOf(stack.state)
  await admin['issuer.remove']({ issuer: peer.url, clientId: null })
  await trust('RS256', 'person')
  const subject = 'ada-at-work'
  await admin['issuer.link']({ issuer: peer.url, clientId: null, subject, email: developer.email })
  const { access_token } = await exchange(await peer.signIn('RS256', subject))
  expect(parseJws(access_token).payload.sub).toBe(developer.accountId)
})
