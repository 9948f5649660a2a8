/** Clients that others wrote sign people in to apps, unmodified; oidc-client-ts is in tests/system/people/app.test.ts. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decide } from '../../harness/app.ts'
import { type ConsoleSession, enterByLink, projectWith } from '../../harness/console.ts'
import { needs } from '../../harness/installed.ts'
import { root, type Stack, startStack } from '../../harness/processes.ts'

const redirectUri = 'https://app.example/signed-in'
const afterLogout = 'https://app.example/bye'

let stack: Stack
let person: ConsoleSession
let issuer: URL
let clientId: string
/** Of a project with RS256. */
let rs256ClientId: string
let personId: string
beforeAll(async () => {
  stack = await startStack()
  issuer = new URL(stack.identity.url)
  person = await enterByLink(stack.identity.url, stack.identity.ready.setup!, 'ada@example.com')
  const project = projectWith({ redirectUris: [redirectUri], postLogoutRedirectUris: [afterLogout] })
  clientId = (await person.api['project.create'](project)).clientId
  const rs256 = projectWith({ redirectUris: [redirectUri], idTokenSignedResponseAlg: 'RS256' })
  rs256ClientId = (await person.api['project.create'](rs256)).clientId
  personId = (await person.api['session.get']()).viewer!.personId
})
afterAll(() => stack?.stop())

/** The person approves at the URL that a library made. */
const approveAt = (url: URL): Promise<URL> => decide(person, url.search.slice(1))

describe('openid-client', () => {
  const discover = () =>
    openid.discovery(issuer, clientId, undefined, openid.None(), { execute: [openid.allowInsecureRequests] })

  it.each([
    ['plain', { pushes: false, proves: false }],
    ['with PAR', { pushes: true, proves: false }],
    ['with DPoP', { pushes: false, proves: true }],
    ['with PAR and DPoP, as FAPI 2.0 has it', { pushes: true, proves: true }],
  ])('%s: signs in, reads UserInfo, refreshes, revokes and signs out', async (_, { pushes, proves }) => {
    const configuration = await discover()
    const more = proves
      ? { DPoP: openid.getDPoPHandle(configuration, await openid.randomDPoPKeyPair()) }
      : undefined
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const expectedState = openid.randomState()
    const expectedNonce = openid.randomNonce()
    const parameters = {
      redirect_uri: redirectUri,
      scope: 'openid offline_access',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      nonce: expectedNonce,
      prompt: 'consent',
      max_age: '600',
    }
    const url = pushes
      ? await openid.buildAuthorizationUrlWithPAR(configuration, parameters, more)
      : openid.buildAuthorizationUrl(configuration, parameters)
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, maxAge: 600, idTokenExpected: true }
    const tokens = await openid.authorizationCodeGrant(
      configuration,
      await approveAt(url),
      checks,
      undefined,
      more,
    )
    expect(tokens.claims()).toMatchObject({ sub: personId, aud: clientId, email: 'ada@example.com' })
    expect(tokens.token_type).toBe(proves ? 'dpop' : 'bearer')
    const info = await openid.fetchUserInfo(configuration, tokens.access_token, personId, more)
    expect(info).toMatchObject({ sub: personId, email: 'ada@example.com' })
    const fresh = await openid.refreshTokenGrant(configuration, tokens.refresh_token!, undefined, more)
    expect(fresh.claims()).toMatchObject({ sub: personId })
    await openid.tokenRevocation(configuration, fresh.refresh_token!)
    await expect(
      openid.refreshTokenGrant(configuration, fresh.refresh_token!, undefined, more),
    ).rejects.toMatchObject({ error: 'invalid_grant' })
    const end = openid.buildEndSessionUrl(configuration, {
      id_token_hint: tokens.id_token!,
      post_logout_redirect_uri: afterLogout,
    })
    expect(end.pathname).toBe('/logout')
    expect(
      await person.api['logout.finish']({ query: end.search.slice(1), everywhere: false }),
    ).toMatchObject({ returnTo: afterLogout, obstacle: null })
  })

  it('understands a refusal, and refuses an answer of another issuer (mix-up)', async () => {
    const configuration = await discover()
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    const denied = await decide(person, url.search.slice(1), false)
    await expect(
      openid.authorizationCodeGrant(configuration, denied, { pkceCodeVerifier }),
    ).rejects.toMatchObject({ error: 'access_denied' })
    const approved = await approveAt(url)
    approved.searchParams.set('iss', 'https://evil.example')
    await expect(
      openid.authorizationCodeGrant(configuration, approved, { pkceCodeVerifier }),
    ).rejects.toMatchObject({ cause: { message: expect.stringContaining('"iss"') } })
  })

  /** A sign-in with a client that accepts RS256 alone, and verifies signatures. */
  async function signInWithRs256(id: string) {
    const metadata = { id_token_signed_response_alg: 'RS256' }
    const configuration = await openid.discovery(issuer, id, metadata, openid.None(), {
      execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
    })
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid offline_access',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    const checks = { pkceCodeVerifier, idTokenExpected: true }
    const tokens = await openid.authorizationCodeGrant(configuration, await approveAt(url), checks)
    return openid.refreshTokenGrant(configuration, tokens.refresh_token!)
  }

  it('that accepts RS256 alone signs in to a project with RS256, and to no other', async () => {
    expect((await signInWithRs256(rs256ClientId)).claims()).toMatchObject({ sub: personId })
    await expect(signInWithRs256(clientId)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('"alg"') },
    })
  })
})

it('oauth4webapi finds the endpoints, signs in and validates answer, tokens and UserInfo', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true } as const
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
  const client = { client_id: clientId }
  const verifier = oauth.generateRandomCodeVerifier()
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
  const url = new URL(server.authorization_endpoint!)
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid offline_access',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  const answer = oauth.validateAuthResponse(server, client, await approveAt(url), state)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    answer,
    redirectUri,
    verifier,
    insecure,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  const claims = oauth.getValidatedIdTokenClaims(tokens)!
  expect(claims).toMatchObject({ sub: personId, nonce })
  const info = await oauth.userInfoRequest(server, client, tokens.access_token, insecure)
  expect(await oauth.processUserInfoResponse(server, client, claims.sub, info)).toMatchObject({
    sub: personId,
  })
})

describe('Authlib', needs('authlib'), () => {
  const program = join(root, 'tests/system/clients/authlib/sign-in.py')
  const run = async (id: string, algorithm: string, ...args: string[]) =>
    JSON.parse(
      (
        await promisify(execFile)('/usr/bin/python3', [
          program,
          stack.identity.url,
          id,
          redirectUri,
          algorithm,
          ...args,
        ])
      ).stdout,
    )

  it.each([
    ['ES256', () => clientId],
    ['RS256', () => rs256ClientId],
  ])('signs in with PKCE, verifies the ID token with %s alone and refreshes', async (alg, idOf) => {
    const { url, state, verifier, nonce } = await run(idOf(), alg, 'begin')
    const answer = await approveAt(new URL(url))
    const result = await run(idOf(), alg, 'finish', answer.href, state, verifier, nonce)
    expect(result).toEqual({
      sub: personId,
      nonce,
      email: 'ada@example.com',
      refreshed: true,
      typ: 'app-id+jwt',
      alg,
    })
  })
})
