/** A token of one kind in the place of another: the refusal names both kinds, and repeats nothing else of the token. */
import { generateKeyPairSync } from 'node:crypto'
import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { grantTypes, methods, tokenTypes } from '@selvedge/protocol'
import { describeKind, publicJwk } from '@selvedge/protocol/tokens'
import { systemClock } from '@selvedge/service-kit/clock'
import { createProof } from '@selvedge/service-kit/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDeveloper, createProject, runtimeOf } from '../harness/flow.ts'
import { sampleOf } from '../harness/samples.ts'
import { randomOf } from '../harness/seed.ts'
import { callUrl, type Services, startServices } from '../harness/services.ts'

const random = randomOf('wrong-kind')

const kinds = {
  edge: 'an edge ID token (typ edge-id+jwt)',
  developer: 'a developer ID token (typ JWT)',
  answer: 'a developer ID token (typ JWT)',
  access: 'an access token (typ at+jwt)',
  proof: 'a DPoP proof (typ dpop+jwt)',
  refresh: 'a refresh token',
  hmac: 'an HMAC code',
  key: 'a text in the form of an API key',
  header: 'a whole Authorization header',
  json: 'JSON, not the token in it',
  garbage: undefined,
  otherJwt: undefined,
} as const
type Kind = keyof typeof kinds

const needs = {
  access: 'an access token: selvedge token access',
  edge: 'an edge ID token: selvedge token edge',
  developer: 'a developer ID token: selvedge login, or the page of the project in the console',
  refresh: 'a refresh token: the "refresh_token" of an earlier answer',
} as const

let services: Services
let tokens: Record<Kind, string>
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

const form = async (fields: Record<string, string>) => {
  const response = await fetch(`${services.stack.identity.url}/token`, {
    method: 'POST',
    body: new URLSearchParams(fields),
  })
  return (await response.json()) as Record<string, string>
}

beforeAll(async () => {
  services = await startServices()
  const { stack, developer, token: access } = services
  await services.deploy('hello', "export default { fetch: () => new Response('hello') }")
  const runtime = runtimeOf(stack)
  const { id_token: edge } = await runtime.getEdgeIdToken()
  const { nodeId, time } = await runtime.getMe()
  const scopes = ['openid', 'offline_access', 'edge:mcm']
  const lasting = await createDeveloper(stack.state, { scopes })
  const answer = await form({
    grant_type: grantTypes.idTokenSignin,
    client_id: lasting.clientId,
    id_token: lasting.idToken,
    edge_id_token: edge,
    scope: 'openid offline_access',
  })
  const expiry = String(Math.floor(Date.parse(time.now) / 1000) + 600)
  const { edgeHmacCode } = await runtime.getEdgeHmacCode({
    edgeAccessToken: access,
    expiry,
    nodeId,
    uri: '/x',
  })
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
  tokens = {
    edge,
    developer: developer.idToken,
    answer: answer.id_token!,
    access,
    refresh: answer.refresh_token!,
    proof: createProof({ key: privateKey, jwk, htm: 'POST', htu: 'http://x/token', clock: systemClock }),
    hmac: edgeHmacCode,
    key: random.bytes(32).toString('base64url'),
    header: `Bearer ${access}`,
    json: JSON.stringify({ id_token: 'secret-inside-of-json' }),
    garbage: 'secret-garbage-of-nothing',
    otherJwt: `${encode({ alg: 'ES256', typ: 'secret-type+jwt', kid: 'k' })}.${encode({ iss: 'x' })}.${'A'.repeat(86)}`,
  }
})
afterAll(() => services.stop())

/** Kinds that are not those of a place. */
const others = (...own: Kind[]) => (Object.keys(kinds) as Kind[]).filter((kind) => !own.includes(kind))

/** Checks a refusal: both kinds by name, and no part of the token. */
function expectNamed(kind: Kind, message: string, use: string | RegExp, needed: keyof typeof needs): void {
  const found = kinds[kind]
  if (found !== undefined && typeof use === 'string')
    expect({ kind, message }).toEqual({ kind, message: `this is ${found}; ${use} needs ${needs[needed]}` })
  for (const part of tokens[kind].split(/[^\w-]+/).filter((each) => each.length > 8))
    expect({ kind, holds: message.includes(part) && !/^Authorization$/.test(part) }).toEqual({
      kind,
      holds: false,
    })
  expect(message).not.toContain('secret-')
}

describe('the kind of a token', () => {
  it.each(Object.keys(kinds) as Kind[])('is read off its form: %s', (kind) => {
    expect(describeKind(tokens[kind])).toBe(kinds[kind])
  })

  it('is never read off its claims, nor off a type that is not ours', () => {
    const header = { alg: 'ES256', typ: '__proto__' }
    expect(describeKind(`${encode(header)}.${encode({ typ: 'at+jwt' })}.AAAA`)).toBeUndefined()
    expect(describeKind(`${'e'.repeat(9000)}.a.b`)).toBeUndefined()
  })
})

describe('the runtime names the kind', () => {
  const withToken = Object.values(methods).filter(({ access }) => access.caller === 'token')

  it.each(withToken.map(({ name }) => name))('at %s', async (method) => {
    for (const kind of others('access')) {
      const response = await fetch(`${services.url()}/jsonrpc/v1`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: sampleOf(method, tokens[kind]) }),
      })
      const { error } = (await response.json()) as { error: { data: { reason: string; detail: string } } }
      expect(error.data.reason).toMatch(/^token_(?:malformed|untrusted)$/)
      expectNamed(kind, error.data.detail, method, 'access')
    }
  })

  it('in each call of a batch by the name of its own method', async () => {
    const calls = ['getGps', 'getImages'].map((method, id) => ({
      jsonrpc: '2.0',
      id,
      method,
      params: [tokens.edge],
    }))
    const response = await fetch(`${services.url()}/jsonrpc/v1`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(calls),
    })
    const answers = (await response.json()) as { error: { data: { detail: string } } }[]
    expect(answers.map(({ error }) => error.data.detail)).toEqual(
      ['getGps', 'getImages'].map((use) => `this is ${kinds.edge}; ${use} needs ${needs.access}`),
    )
  })

  it.each([
    ['/mcm/v1/images', 'GET /mcm/v1/images'],
    ['/mcm/v1/containers/x/logs', 'GET /mcm/v1/containers/{id}/logs'],
    ['/mds/v1/nodes?clusters=account', 'GET /mds/v1/nodes'],
  ])('at %s and at the gateway', async (path, use) => {
    for (const kind of others('access', 'header', 'json')) {
      const { status, text } = await services.call(path, { token: tokens[kind] })
      expect(status).toBe(401)
      expectNamed(kind, JSON.parse(text).error.message, use, 'access')
      const id = `${services.developer.clientId}-hello`
      const refused = await services.call(`/${services.developer.clientId}/hello/`, { token: tokens[kind] })
      expect(refused.status).toBe(401)
      expectNamed(kind, JSON.parse(refused.text).error.message, `the service ${id}`, 'access')
    }
  })
})

describe('the token endpoint names the kind', () => {
  const own = () => ({
    grant_type: grantTypes.idTokenSignin,
    client_id: services.developer.clientId,
    id_token: tokens.developer,
    edge_id_token: tokens.edge,
    scope: 'openid',
  })
  const standard = () => ({
    grant_type: grantTypes.tokenExchange,
    client_id: services.developer.clientId,
    subject_token: tokens.developer,
    subject_token_type: tokenTypes.idToken,
    actor_token: tokens.edge,
    actor_token_type: tokenTypes.idToken,
    scope: 'openid',
  })

  it.each([
    ['id_token', own, 'developer'],
    ['edge_id_token', own, 'edge'],
    ['subject_token', standard, 'developer'],
    ['actor_token', standard, 'edge'],
  ] as const)('in %s', async (field, fields, needed) => {
    const same: Kind[] = needed === 'developer' ? ['developer', 'answer'] : ['edge']
    for (const kind of others(...same)) {
      const { error, error_description: message = '' } = await form({ ...fields(), [field]: tokens[kind] })
      expect(error).toMatch(/^invalid_(?:grant|request)$/)
      expectNamed(kind, message, field, needed)
    }
  })

  it('in refresh_token', async () => {
    for (const kind of others('refresh')) {
      const { error, error_description: message = '' } = await form({
        grant_type: grantTypes.refreshToken,
        client_id: services.developer.clientId,
        refresh_token: tokens[kind],
      })
      expect(error).toBe('invalid_grant')
      expectNamed(kind, message, 'refresh_token', 'refresh')
    }
  })

  it('in the DPoP header', async () => {
    const { clientId, idToken } = await createProject(services.stack.state, services.developer.email)
    for (const kind of others('proof', 'json')) {
      const response = await fetch(`${services.stack.identity.url}/token`, {
        method: 'POST',
        headers: { DPoP: tokens[kind] },
        body: new URLSearchParams({ ...own(), client_id: clientId, id_token: idToken }),
      })
      const { error, error_description: message } = (await response.json()) as Record<string, string>
      expect(error).toBe('invalid_dpop_proof')
      if (kinds[kind]) expect(message).toBe(`this is ${kinds[kind]}; the DPoP header needs a DPoP proof`)
      expectNamed(kind, message!, /./, 'access')
    }
  })
})

describe('other places name the kind', () => {
  it('the discovery service', async () => {
    const { nodeId } = await services.runtime().getMe()
    for (const kind of others('access', 'header', 'json')) {
      const url = `${services.stack.discovery.url}/v1/nodes/${nodeId}/fix`
      const { status, text } = await callUrl(url, { token: tokens[kind] })
      expect(status).toBe(401)
      const { error_description: message } = JSON.parse(text)
      if (kinds[kind]) expect(message).toBe(`this is ${kinds[kind]}; what is needed is ${needs.access}`)
      expectNamed(kind, message, /./, 'access')
    }
  })

  it('/userinfo of the identity service', async () => {
    for (const kind of others('access', 'header', 'json')) {
      const { status, text } = await callUrl(`${services.stack.identity.url}/userinfo`, {
        token: tokens[kind],
      })
      expect(status).toBe(401)
      const { error_description: message } = JSON.parse(text)
      if (kinds[kind]) expect(message).toBe(`this is ${kinds[kind]}; /userinfo needs an access token`)
      expectNamed(kind, message, /./, 'access')
    }
  })

  it('the library for backends, in its challenge too', async () => {
    const verifier = createAccessTokenVerifier({ issuer: services.stack.identity.url })
    for (const kind of others('access', 'header')) {
      const cause = await verifier.verify(tokens[kind]).catch((refused) => refused)
      expect(cause.status).toBe(401)
      if (kinds[kind]) expect(cause.message).toBe(`this is ${kinds[kind]}; what is needed is ${needs.access}`)
      expectNamed(kind, cause.message, /./, 'access')
      expectNamed(kind, cause.wwwAuthenticate, /./, 'access')
    }
  })
})
