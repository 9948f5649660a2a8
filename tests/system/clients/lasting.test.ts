/** What other people's clients make of our device flow, refresh, DPoP, revocation and introspection, unmodified. */
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, projectWith } from '../../harness/console.ts'
import { runtimeOf } from '../../harness/flow.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

const scope = 'openid edge:mcm offline_access'

let stack: Stack
let person: ConsoleSession
let clientId: string
let idToken: string
beforeAll(async () => {
  stack = await startStack()
  person = await enterByLink(stack.identity.url, stack.identity.ready.setup!, 'ada@example.com')
  clientId = (await person.api['project.create'](projectWith({}))).clientId
  idToken = (await person.api['token.create']({ clientId })).idToken
})
afterAll(() => stack.stop())

describe('openid-client', () => {
  const discover = () =>
    openid.discovery(new URL(stack.identity.url), clientId, undefined, openid.None(), {
      algorithm: 'oidc',
      execute: [openid.allowInsecureRequests],
    })

  it('signs a terminal in, polls at the given interval, and refreshes', async () => {
    const configuration = await discover()
    const begun = await openid.initiateDeviceAuthorization(configuration, { scope })
    const polling = openid.pollDeviceAuthorizationGrant(configuration, begun)
    await person.api['device_request.decide']({ userCode: begun.user_code, approve: true })
    const tokens = await polling
    expect(tokens.claims()).toMatchObject({ aud: clientId, email: 'ada@example.com' })
    const info = await openid.fetchUserInfo(configuration, tokens.access_token, tokens.claims()!.sub)
    expect(info).toMatchObject({ email: 'ada@example.com' })

    const fresh = await openid.refreshTokenGrant(configuration, tokens.refresh_token!)
    expect(fresh.refresh_token).not.toBe(tokens.refresh_token)
    expect(await openid.tokenIntrospection(configuration, fresh.access_token)).toMatchObject({
      active: true,
      scope,
    })
    await openid.tokenRevocation(configuration, fresh.refresh_token!)
    expect(await openid.tokenIntrospection(configuration, fresh.access_token)).toEqual({ active: false })
    await expect(openid.refreshTokenGrant(configuration, fresh.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
  })

  it('understands a refusal on the page', async () => {
    const configuration = await discover()
    const begun = await openid.initiateDeviceAuthorization(configuration, { scope })
    await person.api['device_request.decide']({ userCode: begun.user_code, approve: false })
    await expect(openid.pollDeviceAuthorizationGrant(configuration, begun)).rejects.toMatchObject({
      error: 'access_denied',
    })
  })

  it('binds its tokens to a key, nonce and all', async () => {
    const configuration = await discover()
    const DPoP = openid.getDPoPHandle(configuration, await openid.randomDPoPKeyPair('ES256'))
    const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
    const fields = { id_token: idToken, edge_id_token: edge, scope }
    const tokens = await openid.genericGrantRequest(configuration, 'id_token_signin', fields, { DPoP })
    expect(tokens.token_type).toBe('dpop')
    const fresh = await openid.refreshTokenGrant(configuration, tokens.refresh_token!, undefined, { DPoP })
    expect(fresh.token_type).toBe('dpop')
    await expect(openid.refreshTokenGrant(configuration, fresh.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    const info = await openid.fetchUserInfo(configuration, fresh.access_token, openid.skipSubjectCheck, {
      DPoP,
    })
    expect(info).toMatchObject({ email: 'ada@example.com' })
  })
})

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true } as const
  const client = () => ({ client_id: clientId })
  const find = async () => {
    const issuer = new URL(stack.identity.url)
    return oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
    )
  }

  it('finds every endpoint in the metadata', async () => {
    const url = stack.identity.url
    expect(await find()).toMatchObject({
      token_endpoint: `${url}/token`,
      device_authorization_endpoint: `${url}/device_authorization`,
      revocation_endpoint: `${url}/revoke`,
      introspection_endpoint: `${url}/introspect`,
      userinfo_endpoint: `${url}/userinfo`,
      dpop_signing_alg_values_supported: ['ES256'],
      grant_types_supported: expect.arrayContaining([
        'refresh_token',
        'urn:ietf:params:oauth:grant-type:device_code',
      ]),
    })
  })

  it('runs device flow, refresh, introspection and revocation by the letter', async () => {
    const server = await find()
    const begun = await oauth.processDeviceAuthorizationResponse(
      server,
      client(),
      await oauth.deviceAuthorizationRequest(
        server,
        client(),
        oauth.None(),
        new URLSearchParams({ scope }),
        insecure,
      ),
    )
    await person.api['device_request.decide']({ userCode: begun.user_code, approve: true })
    const tokens = await oauth.processDeviceCodeResponse(
      server,
      client(),
      await oauth.deviceCodeGrantRequest(server, client(), oauth.None(), begun.device_code, insecure),
    )
    const fresh = await oauth.processRefreshTokenResponse(
      server,
      client(),
      await oauth.refreshTokenGrantRequest(server, client(), oauth.None(), tokens.refresh_token!, insecure),
    )
    const look = async (token: string) =>
      oauth.processIntrospectionResponse(
        server,
        client(),
        await oauth.introspectionRequest(server, client(), oauth.None(), token, insecure),
      )
    expect(await look(fresh.refresh_token!)).toMatchObject({ active: true, client_id: clientId })
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client(), oauth.None(), fresh.access_token, insecure),
    )
    expect(await look(fresh.access_token)).toEqual({ active: false })
    expect(await look(fresh.refresh_token!)).toMatchObject({ active: true })
  })
})
