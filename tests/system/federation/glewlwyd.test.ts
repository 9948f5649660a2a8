/** ID tokens of Debian's glewlwyd, a provider in C that we did not write, are accepted under the rules of a project. */
import { createIdentityClient, type OAuthFailure } from '@selvedge/client'
import { parseJws, type SignatureAlgorithm } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../../harness/flow.ts'
import { type Glewlwyd, startGlewlwyd } from '../../harness/glewlwyd.ts'
import { needs } from '../../harness/installed.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

describe('glewlwyd', needs('glewlwyd'), () => {
  const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
  let stack: Stack
  let developer: Developer
  let peer: Glewlwyd
  let edge: string

  beforeAll(async () => {
    stack = await startStack()
    developer = await createDeveloper(stack.state)
    peer = await startGlewlwyd(algorithms)
    edge = (await runtimeOf(stack).getEdgeIdToken()).id_token
  })
  afterAll(async () => {
    await peer?.stop()
    await stack?.stop()
  })

  const trust = (algorithm: SignatureAlgorithm, more: { audiences?: string[]; value?: string } = {}) =>
    adminOf(stack.state)['issuer.add']({
      clientId: developer.clientId,
      issuer: peer.issuerOf(algorithm),
      audiences: more.audiences ?? ['selvedge'],
      conditions: [{ claim: 'amr', value: more.value ?? 'session' }],
      scopes: ['edge:mcm'],
      as: 'workload',
      algorithms: [algorithm],
      allowsPrivate: true,
    })

  const exchange = (idToken: string) =>
    createIdentityClient({ url: stack.identity.url }).exchange({
      clientId: developer.clientId,
      developerIdToken: idToken,
      edgeIdToken: edge,
      scope: 'edge:mcm',
    })

  const reasonOf = (idToken: string) =>
    exchange(idToken).then(
      () => 'accepted',
      ({ reason }: OAuthFailure) => reason,
    )

  it.each(algorithms)('its ID token with %s is accepted under a rule', async (algorithm) => {
    const idToken = await peer.signIn(algorithm)
    expect(await reasonOf(idToken)).toBe('invalid_grant')
    await trust(algorithm)
    const { access_token } = await exchange(idToken)
    const { sub } = parseJws(idToken).payload
    expect(parseJws(access_token).payload.sub).toBe(`${peer.issuerOf(algorithm)}#${sub}`)
  })

  it('its ID token is refused under a rule for another client or another claim', async () => {
    const issuer = peer.issuerOf('ES256')
    await adminOf(stack.state)['issuer.remove']({ issuer, clientId: null })
    await trust('ES256', { audiences: ['another'] })
    await trust('ES256', { value: 'another' })
    expect(await reasonOf(await peer.signIn('ES256'))).toBe('invalid_grant')
  })
})
