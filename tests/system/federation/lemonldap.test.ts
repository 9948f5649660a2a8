/** ID tokens of Debian's LemonLDAP::NG, a provider in Perl that we did not write. Its issuer ends with a slash. */
import { createIdentityClient, type OAuthFailure } from '@selvedge/client'
import { parseJws } from '@selvedge/protocol/tokens'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { type Lemonldap, startLemonldap } from '../../harness/lemonldap.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

describe('LemonLDAP::NG', needs('lemonldap-ng'), () => {
  let stack: Stack
  let developer: Developer
  let peer: Lemonldap
  let edge: string

  beforeAll(async () => {
    stack = await startStack()
    developer = await createDeveloper(stack.state)
    peer = await startLemonldap()
    edge = (await runtimeOf(stack).getEdgeIdToken()).id_token
  })
  afterAll(async () => {
    await peer?.stop()
    await stack?.stop()
  })
  const admin = () => adminOf(stack.state)
  beforeEach(async () => {
    for (const { issuerId } of await admin()['issuer.list']({ clientId: null }))
      await admin()['issuer.remove']({ issuer: issuerId, clientId: null })
  })

  const trust = (issuer = peer.issuer) =>
    admin()['issuer.add']({
      clientId: developer.clientId,
      issuer,
      audiences: ['selvedge'],
      conditions: [{ claim: 'email', value: 'dwho@badwolf.org' }],
      scopes: ['edge:mcm'],
      as: 'person',
      algorithms: ['RS256'],
      allowsPrivate: true,
    })

  const exchange = (developerIdToken: string) =>
    createIdentityClient({ url: stack.identity.url }).exchange({
      clientId: developer.clientId,
      developerIdToken,
      edgeIdToken: edge,
      scope: 'edge:mcm',
    })
  const reasonOf = (idToken: string) =>
    exchange(idToken).then(
      () => 'accepted',
      ({ reason }: OAuthFailure) => reason,
    )

  it('its ID token is accepted for a person who is linked, and for no other one', async () => {
    const { issuerId } = await trust()
    const idToken = await peer.signIn('dwho')
    expect(await reasonOf(idToken)).toBe('invalid_grant')
    await admin()['issuer.link']({
      issuer: issuerId,
      clientId: null,
      subject: 'dwho',
      email: developer.email,
    })
    const { access_token } = await exchange(idToken)
    expect(parseJws(access_token).payload.sub).toBe(developer.accountId)
    expect(await reasonOf(await peer.signIn('rtyler'))).toBe('invalid_grant')
  })

  it('a rule for its issuer without the slash is for another issuer', async () => {
    await trust(peer.issuer.replace(/\/$/, ''))
    expect(await reasonOf(await peer.signIn('dwho'))).toBe('invalid_grant')
  })
})
