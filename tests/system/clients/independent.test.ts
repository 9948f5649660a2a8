/** Clients that other people wrote, unmodified, against our service. */

import { grantTypes, tokenTypes } from '@selvedge/protocol'
import { edgeAudience } from '@selvedge/protocol/tokens'
import * as jose from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  accessToken,
  adminOf,
  allScopes,
  createDeveloper,
  type Developer,
  runtimeOf,
} from '../../harness/flow.ts'
import { type Stack, startStack } from '../../harness/processes.ts'

let stack: Stack
let developer: Developer
let edge: string
let issuer: URL
beforeAll(async () => {
  stack = await startStack()
  developer = await createDeveloper(stack.state)
  edge = (await runtimeOf(stack).getEdgeIdToken()).id_token
  issuer = new URL(stack.identity.url)
})
afterAll(() => stack.stop())

const standardFields = () => ({
  subject_token: developer.idToken,
  subject_token_type: tokenTypes.idToken,
  actor_token: edge,
  actor_token_type: tokenTypes.idToken,
  scope: allScopes,
})

describe('openid-client', () => {
  const discover = (algorithm: 'oidc' | 'oauth2') =>
    openid.discovery(issuer, developer.clientId, undefined, openid.None(), {
      algorithm,
      execute: [openid.allowInsecureRequests],
    })

  it.each(['oidc', 'oauth2'] as const)(
    'finds the service by its %s metadata and runs both grants',
    async (algorithm) => {
      const configuration = await discover(algorithm)
      const own = await openid.genericGrantRequest(configuration, grantTypes.idTokenSignin, {
        id_token: developer.idToken,
        edge_id_token: edge,
        scope: allScopes,
      })
      const standard = await openid.genericGrantRequest(
        configuration,
        grantTypes.tokenExchange,
        standardFields(),
      )
      for (const tokens of [own, standard]) {
        expect(tokens).toMatchObject({
          token_type: 'bearer',
          expires_in: 3600,
          scope: allScopes,
          id_token: developer.idToken,
        })
        expect(tokens.claims()).toMatchObject({ sub: developer.accountId, aud: developer.clientId })
      }
    },
  )

  it('understands a refusal', async () => {
    const call = openid.genericGrantRequest(await discover('oauth2'), grantTypes.idTokenSignin, {
      id_token: edge,
      edge_id_token: edge,
      scope: 'openid',
    })
    await expect(call).rejects.toMatchObject({
      error: 'invalid_grant',
      error_description: expect.stringContaining('developer ID token'),
    })
  })
})

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true } as const

  it('finds the service, runs the exchange and validates the access token as RFC 9068 says', async () => {
    const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
    const server = await oauth.processDiscoveryResponse(issuer, response)
    const client = { client_id: developer.clientId }
    const answer = await oauth.genericTokenEndpointRequest(
      server,
      client,
      oauth.None(),
      grantTypes.tokenExchange,
      new URLSearchParams(standardFields()),
      insecure,
    )
    const tokens = await oauth.processGenericTokenEndpointResponse(server, client, answer)
    const request = new Request('https://backend.example/', {
      headers: { Authorization: `Bearer ${tokens.access_token}` },
    })
    const claims = await oauth.validateJwtAccessToken(server, request, edgeAudience, insecure)
    expect(claims).toMatchObject({
      sub: developer.accountId,
      client_id: developer.clientId,
      scope: allScopes,
    })
  })
})

describe('jose', () => {
  const keys = () => jose.createRemoteJWKSet(new URL('/jwks', issuer))

  it('verifies all three tokens against our key set', async () => {
    const access = await accessToken(stack, developer)
    const { nodeId } = await runtimeOf(stack).getMe()
    const options = { issuer: stack.identity.url, algorithms: ['ES256'] }
    const checked = await jose.jwtVerify(access, keys(), {
      ...options,
      audience: edgeAudience,
      typ: 'at+jwt',
    })
    expect(checked.payload).toMatchObject({
      sub: developer.accountId,
      account_id: developer.accountId,
      client_id: developer.clientId,
      azp: developer.clientId,
      node_id: nodeId,
      act: { sub: nodeId },
      auth_time: expect.any(Number),
      jti: expect.any(String),
    })
    expect(checked.payload.exp! - checked.payload.iat!).toBe(3600)
    const edgeClaims = (
      await jose.jwtVerify(edge, keys(), { ...options, audience: stack.identity.url, typ: 'edge-id+jwt' })
    ).payload
    expect(edgeClaims).toMatchObject({ node_id: nodeId, sub: '', cnf: { jkt: expect.any(String) } })
    expect(edgeClaims.exp! - edgeClaims.iat!).toBe(600)
    await jose.jwtVerify(developer.idToken, keys(), { ...options, audience: developer.clientId, typ: 'JWT' })
  })

  it('finds no difference between the claims of the two grants but their identifiers and times', async () => {
    const post = async (fields: Record<string, string>) => {
      const body = new URLSearchParams({ client_id: developer.clientId, ...fields })
      const answer = (await (
        await fetch(`${stack.identity.url}/token`, { method: 'POST', body })
      ).json()) as { access_token: string }
      const { jti, iat, exp, ...claims } = jose.decodeJwt(answer.access_token)
      return { ...claims, hasJti: jti !== undefined, life: exp! - iat! }
    }
    const own = {
      grant_type: grantTypes.idTokenSignin,
      id_token: developer.idToken,
      edge_id_token: edge,
      scope: allScopes,
    }
    expect(await post(own)).toEqual(await post({ grant_type: grantTypes.tokenExchange, ...standardFields() }))
  })

  it('follows a rotation of the keys: tokens of before and of after are good, without a restart', async () => {
    const before = await accessToken(stack, developer)
    await adminOf(stack.state)['keys.rotate']()
    const after = await accessToken(stack, developer)
    expect(jose.decodeProtectedHeader(after).kid).not.toBe(jose.decodeProtectedHeader(before).kid)
    for (const token of [before, after]) {
      await jose.jwtVerify(token, keys(), { issuer: stack.identity.url })
      await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
    }
    await adminOf(stack.state)['keys.rotate']()
    await runtimeOf(stack).associateAccount({ edgeAccessToken: await accessToken(stack, developer) })
    await runtimeOf(stack).associateAccount({ edgeAccessToken: before })
  })
})
