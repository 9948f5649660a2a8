/**
 * RS256 is for ID tokens of apps alone. Our RSA key, its public half as a secret, and its ID under other signatures are tried at every
 * place that reads tokens.
 */
import { constants, createHmac, sign } from 'node:crypto'
import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { grantTypes, tokenTypes } from '@selvedge/protocol'
import { signEs256 } from '@selvedge/service-kit/tokens'
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type App, addressOf, createPkce, requestOf, signInToApp } from '../harness/app.ts'
import { cliEnvOf } from '../harness/cli.ts'
import { runCliHere } from '../harness/cli-here.ts'
import { type ConsoleSession, enterByLink, projectWith } from '../harness/console.ts'
import {
  accessToken,
  adminOf,
  allScopes,
  createDeveloper,
  type Developer,
  runtimeOf,
} from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { callUrl } from '../harness/services.ts'
import { readIssuerKeys } from './forge.ts'

const redirectUri = 'https://app.example/signed-in'
const afterLogout = 'https://app.example/bye'

let stack: Stack
let url: string
let person: ConsoleSession
let app: App
let usual: App
let developer: Developer
let access: string
let edge: string

beforeAll(async () => {
  stack = await startStack()
  url = stack.identity.url
  person = await enterByLink(url, stack.identity.ready.setup!, 'ada@example.com')
  app = await createApp({ idTokenSignedResponseAlg: 'RS256' })
  usual = await createApp({})
  developer = await createDeveloper(stack.state)
  access = await accessToken(stack, developer)
  edge = (await runtimeOf(stack).getEdgeIdToken()).id_token
})
afterAll(() => stack?.stop())

const createApp = async (more: object): Promise<App> => {
  const project = projectWith({ redirectUris: [redirectUri], postLogoutRedirectUris: [afterLogout], ...more })
  return { clientId: (await person.api['project.create'](project)).clientId, redirectUri }
}
const idTokenOf = async (of: App) => (await signInToApp(url, of, person)).body.id_token!
const remoteKeys = () => jose.createRemoteJWKSet(new URL('/jwks', url))
const logout = async (idToken: string) => {
  const query = new URLSearchParams({ id_token_hint: idToken, post_logout_redirect_uri: afterLogout })
  return person.api['logout.finish']({ query: query.toString(), everywhere: false })
}
/** The error that an app gets for a request with this hint; null: a code. */
const errorOfHint = async (idToken: string) => {
  const query = requestOf(app, createPkce(), { id_token_hint: idToken })
  return addressOf(await person.api['authorization.begin']({ query, ticket: null })).searchParams.get('error')
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The claims of a genuine token under another header and signature. */
const forgeries: Readonly<Record<string, (token: string) => string>> = {
  'RS256 by our RSA key': (token) => resign(token, { alg: 'RS256', kid: rsa().kid }, signRsa),
  'RS256 by our RSA key, under the ID of the ES256 key': (token) =>
    resign(token, { alg: 'RS256', kid: ec().kid }, signRsa),
  'PS256 by our RSA key': (token) => resign(token, { alg: 'PS256', kid: rsa().kid }, signPss),
  'ES256 with a signature by our RSA key': (token) =>
    resign(token, { alg: 'ES256', kid: rsa().kid }, signRsa),
  'ES256 by our ES256 key, under the ID of the RSA key': (token) =>
    resign(token, { alg: 'ES256', kid: rsa().kid }, signEc),
  'RS256 with a signature by our ES256 key': (token) =>
    resign(token, { alg: 'RS256', kid: ec().kid }, signEc),
  'HS256 with the RSA public key in PEM as the secret': (token) =>
    resign(token, hs256(), hmacBy(pem('spki'))),
  'HS256 with the RSA public key in PKCS #1 as the secret': (token) =>
    resign(token, hs256(), hmacBy(pem('pkcs1'))),
  'HS256 with the RSA public key in DER as the secret': (token) =>
    resign(token, hs256(), hmacBy(rsa().publicKey.export({ format: 'der', type: 'spki' }))),
  'HS256 with the modulus as the secret': (token) =>
    resign(token, hs256(), hmacBy(Buffer.from(rsa().publicKey.export({ format: 'jwk' }).n!, 'base64url'))),
  'no algorithm': (token) => resign(token, { alg: 'none', kid: rsa().kid }, () => Buffer.alloc(0)),
}

const rsa = () => readIssuerKeys(stack.state, 'rsa_signing_keys').active
const ec = () => readIssuerKeys(stack.state).active
const hs256 = () => ({ alg: 'HS256', kid: rsa().kid })
const pem = (type: 'spki' | 'pkcs1') => rsa().publicKey.export({ format: 'pem', type })
const hmacBy = (secret: string | Buffer) => (text: string) =>
  createHmac('sha256', secret).update(text).digest()
const signRsa = (text: string) => sign('sha256', Buffer.from(text), rsa().privateKey)
const signEc = (text: string) => signEs256(ec().privateKey, text)
const signPss = (text: string) =>
  sign('sha256', Buffer.from(text), {
    key: rsa().privateKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: 32,
  })

function resign(token: string, header: object, signer: (text: string) => Buffer): string {
  const [old, payload] = token.split('.') as [string, string]
  const own = JSON.parse(Buffer.from(old, 'base64url').toString())
  const text = `${encode({ ...own, ...header })}.${payload}`
  return `${text}.${signer(text).toString('base64url')}`
}

describe('a project that wants RS256', () => {
  it('gets ID tokens with it, at the sign-in and at a refresh, and access tokens with ES256', async () => {
    const { body } = await signInToApp(url, app, person)
    const refreshed = await post(`${url}/token`, {
      grant_type: 'refresh_token',
      client_id: app.clientId,
      refresh_token: body.refresh_token!,
    })
    for (const tokens of [body, refreshed.body]) {
      const options = { issuer: url, audience: app.clientId, typ: 'app-id+jwt', algorithms: ['RS256'] }
      const { payload, protectedHeader } = await jose.jwtVerify(tokens.id_token!, remoteKeys(), options)
      expect(payload).toMatchObject({
        email: 'ada@example.com',
        at_hash: expect.stringMatching(/^[\w-]{22}$/),
      })
      expect(protectedHeader.kid).toBe(rsa().kid)
      expect(jose.decodeProtectedHeader(tokens.access_token!).alg).toBe('ES256')
    }
    expect(jose.decodeProtectedHeader(await idTokenOf(usual)).alg).toBe('ES256')
  })

  it('is found in the metadata, and both kinds of key in the key set', async () => {
    const get = async (path: string) => (await fetch(url + path)).json() as Promise<never>
    expect(await get('/.well-known/openid-configuration')).toMatchObject({
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
      dpop_signing_alg_values_supported: ['ES256'],
    })
    const { keys } = (await get('/jwks')) as { keys: jose.JWK[] }
    expect(keys.map(({ alg, kty, use }) => [alg, kty, use])).toEqual([
      ...[1, 2].map(() => ['ES256', 'EC', 'sig']),
      ...[1, 2].map(() => ['RS256', 'RSA', 'sig']),
    ])
    expect(
      keys.flatMap((key) => Object.keys(key)).filter((name) => /^(?:d|p|q|dp|dq|qi)$/.test(name)),
    ).toEqual([])
  })

  it('can be logged out with its ID token, also by an expired one and after a rotation', async () => {
    const own = await idTokenOf(app)
    const keys = await adminOf(stack.state)['keys.rotate']()
    expect(keys.filter(({ alg, state }) => alg === 'RS256' && state === 'retired')).toHaveLength(1)
    expect(jose.decodeProtectedHeader(await idTokenOf(app)).kid).not.toBe(jose.decodeProtectedHeader(own).kid)
    expect(await errorOfHint(own)).toBeNull()
    const ended = { ...jose.decodeJwt(own), iat: 1_700_000_000, exp: 1_700_003_600 }
    const [header] = own.split('.') as [string]
    const expired = resign(`${header}.${encode(ended)}.x`, { kid: rsa().kid }, signRsa)
    expect(await logout(expired)).toMatchObject({ obstacle: null, returnTo: afterLogout })
    expect(await logout(own)).toMatchObject({ obstacle: null, returnTo: afterLogout })
  })

  it('is set by the operator, who can return to ES256', async () => {
    const { clientId } = usual
    const run = (...args: string[]) =>
      runCliHere(['admin', 'project', 'update', clientId, ...args, '--json'], cliEnvOf(stack))
    await run('--id-token-signed-response-alg', 'RS256')
    expect(jose.decodeProtectedHeader(await idTokenOf(usual)).alg).toBe('RS256')
    await run('--users', 'account')
    expect(jose.decodeProtectedHeader(await idTokenOf(usual)).alg).toBe('RS256')
    await run('--id-token-signed-response-alg', 'ES256')
    expect(jose.decodeProtectedHeader(await idTokenOf(usual)).alg).toBe('ES256')
    const refused = await run('--id-token-signed-response-alg', 'none')
    expect([refused.code, refused.errors]).toEqual([
      2,
      expect.stringContaining('--id-token-signed-response-alg has another value'),
    ])
    const console = person.api['project.create'](projectWith({ idTokenSignedResponseAlg: 'HS256' }))
    await expect(console).rejects.toMatchObject({ reason: 'invalid_params' })
  })
})

describe.each(Object.entries(forgeries))('a token with %s', (name, forge) => {
  it('opens neither runtime, discovery, UserInfo nor a backend', async () => {
    const forged = forge(access)
    await expect(runtimeOf(stack).getImages({ edgeAccessToken: forged })).rejects.toMatchObject({
      reason: expect.stringMatching(/^token_(?:untrusted|malformed)$/),
    })
    for (const target of [`${stack.discovery.url}/v1/nodes`, `${url}/userinfo`])
      expect((await callUrl(target, { token: forged })).status).toBe(401)
    const verifier = createAccessTokenVerifier({ issuer: url })
    await expect(verifier.verify(forged)).rejects.toMatchObject({
      reason: expect.stringMatching(/^token_(?:untrusted|malformed)$/),
    })
    await expect(verifier.verify(access)).resolves.toBeDefined()
  })

  it('is not active, revokes nothing and is exchanged for nothing', async () => {
    const form = { client_id: developer.clientId, scope: allScopes }
    for (const genuine of [access, developer.idToken, edge]) {
      const token = forge(genuine)
      expect((await post(`${url}/introspect`, { ...form, token })).body.active).not.toBe(true)
      await post(`${url}/revoke`, { ...form, token })
    }
    const attempts: [string, string][] = [
      [forge(developer.idToken), edge],
      [developer.idToken, forge(edge)],
    ]
    for (const [idToken, edgeToken] of attempts) {
      const signIn = {
        ...form,
        grant_type: grantTypes.idTokenSignin,
        id_token: idToken,
        edge_id_token: edgeToken,
      }
      const exchange = {
        ...{ ...form, grant_type: grantTypes.tokenExchange, subject_token: idToken, actor_token: edgeToken },
        ...{ subject_token_type: tokenTypes.idToken, actor_token_type: tokenTypes.idToken },
      }
      for (const fields of [signIn, exchange])
        expect((await post(`${url}/token`, fields)).body.access_token).toBeUndefined()
    }
    const live = await post(`${url}/introspect`, { client_id: developer.clientId, token: access })
    expect(live.body.active).toBe(true)
  })

  it('is no hint of who signed in, unless it is what this service issues', async () => {
    const isGenuine = name === 'RS256 by our RSA key'
    const forged = forge(await idTokenOf(app))
    const accessToken = forge((await signInToApp(url, app, person)).body.access_token!)
    expect((await logout(accessToken)).obstacle).toEqual(expect.any(String))
    expect(await errorOfHint(accessToken)).toBe('invalid_request')
    expect(await errorOfHint(forged)).toBe(isGenuine ? null : 'invalid_request')
    const { obstacle } = await logout(forged)
    expect(obstacle === null).toBe(isGenuine)
  })
})
