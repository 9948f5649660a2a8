/** What a node may ask: an edge ID token for its own key, and whether another node made a code. */
import { generateKeyPairSync } from 'node:crypto'
import type { OAuthError } from '@selvedge/protocol'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { createHmacCode, nodeIdOf, signJws } from '@selvedge/service-kit/tokens'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestIssuer } from '../../../../../tests/harness/grants.ts'
import { addEdgeTokenEndpoint } from './edge-token.ts'
import { addVerifyHmacEndpoint } from './verify-hmac.ts'

const clock = createFakeClock()
const now = seconds(clock)
const { issuer, privateKey, verifier } = createTestIssuer(clock)
const { kty, crv, x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  format: 'jwk',
})
const jwk = { kty, crv, x, y } as never
const nodeId = nodeIdOf(jwk)
const other = 'cd'.repeat(28)
const hmacSecret = Buffer.alloc(32, 5)

let app: FastifyInstance
let proof: Record<string, unknown>
let steps: unknown[]
let removedAccount: string
let nodes: Record<string, object>
let edgeReason: string | undefined
let reason: string | undefined

beforeEach(() => {
  proof = { jwk, jkt: 'thumbprint', node: { name: 'van' } }
  steps = []
  removedAccount = ''
  nodes = {
    [nodeId]: { blockedAt: null },
    [other]: { blockedAt: null, hmac: { secret: hmacSecret.toString('base64url') } },
  }
  edgeReason = undefined
  reason = undefined
  app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
  app.setErrorHandler((cause: OAuthError, _, reply) =>
    reply.code(400).send({ error: cause.code, error_description: cause.message }),
  )
  const dpop = {
    nonce: () => 'nonce',
    async verify(given: string, about: object) {
      steps.push({ proof: given, ...about })
      return proof
    },
  }
  const parts = {
    ...{ clock, dpop, issuer: () => issuer, epoch: () => 4, trustedProxies: createAddressSet([]) },
    limits: { takeNode: (id: string) => void steps.push(`limit ${id}`) },
    enrolment: {
      async bringUpToDate(id: string, stated: object, address: string) {
        steps.push({ enrol: id, stated, address })
        return { accountId: 'a', hmac: { cloudKey: '{"kty":"EC"}' }, removedAccount }
      },
    },
    edgeMint: {
      lifetimeSeconds: 600,
      audienceOf: (stated: { audience?: string }) => stated.audience ?? 'own',
      timeFor: (id: string) => ({ time: 1, time_token: `for ${id}` }),
      async idToken({ node, ...grounds }: { node: { accountId: string } }) {
        steps.push({ mint: node.accountId, ...grounds })
        return 'id token'
      },
    },
    nodes: { find: async (id: string) => nodes[id] },
    revocations: { edgeReasonFor: () => edgeReason, reasonFor: () => reason },
    ownVerifier: verifier,
    audiences: () => ['https://tenant.example', 'another'],
  } as never
  addEdgeTokenEndpoint(app, parts)
  addVerifyHmacEndpoint(app, parts)
})
afterEach(() => app.close())

async function post(
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
) {
  const response = await app.inject({
    ...{ method: 'POST', url, remoteAddress: '192.0.2.7' },
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { payload: body }),
  })
  return { status: response.statusCode, headers: response.headers, json: response.json() }
}
const refused = (error: string, description: string | RegExp) => ({
  status: 400,
  json: {
    error,
    error_description: typeof description === 'string' ? description : expect.stringMatching(description),
  },
})

describe('an edge ID token', () => {
  const get = () => post('/edge/token', { headers: { dpop: 'p' } })

  it('is for the node of the key, with what the registry has of it', async () => {
    expect((await get()).json).toEqual({
      ...{ id_token: 'id token', expires_in: 600, account_id: 'a', time: 1, time_token: `for ${nodeId}` },
      hmac_key: { kty: 'EC' },
    })
    expect(steps).toEqual([
      { proof: 'p', htm: 'POST', htu: `${issuer}/edge/token` },
      `limit ${nodeId}`,
      { enrol: nodeId, stated: { name: 'van', vitals: undefined, leases: undefined }, address: '192.0.2.7' },
      { mint: 'a', audience: 'own', jkt: 'thumbprint', epoch: 4 },
    ])
  })

  it('reports an account that its owner removed', async () => {
    removedAccount = 'former'
    expect((await get()).json.removed_account).toBe('former')
  })

  it('is given for no request without a proof, or without a statement of the node', async () => {
    expect(await post('/edge/token')).toMatchObject(refused('invalid_dpop_proof', /no DPoP header/))
    proof = { jwk, jkt: 'thumbprint' }
    const answer = await get()
    expect(answer).toMatchObject(refused('invalid_dpop_proof', 'the proof has no claim "node"'))
    expect(answer.headers['dpop-nonce']).toBe('nonce')
    expect(steps).toHaveLength(1)
  })
})

describe('a code of another node', () => {
  const subject = { nodeId, uri: '/x' }
  const code = createHmacCode(hmacSecret, other, now + 60, subject)
  const body = (more: object = {}) => JSON.stringify({ edgeHmacCode: code, ...subject, ...more })
  const tokenFor = (more: object = {}) =>
    signJws(
      { typ: 'edge-id+jwt', kid: 'k' },
      {
        ...{
          iss: issuer,
          jti: 'j',
          iat: now,
          exp: now + 60,
          sub: '',
          aud: 'https://tenant.example',
          azp: nodeId,
        },
        ...{ node_id: nodeId, node_name: 'n', cnf: { jkt: 'thumbprint' } },
        ...more,
      },
      privateKey,
    )
  const ask = (text: string = body(), token = tokenFor()) =>
    post('/edge/hmac/verify', { headers: { authorization: `DPoP ${token}`, dpop: 'p' }, body: text })

  it('is checked with the secret of the node that made it', async () => {
    expect((await ask()).json).toEqual({ valid: true, expiresAt: '2026-01-01T00:01:00.000Z' })
    expect((await ask(body({ uri: '/y' }))).json).toEqual({ valid: false, reason: 'wrong_uri' })
    expect((await ask(body({ nodeId: other }))).json).toEqual({ valid: false, reason: 'wrong_node' })
    clock.advance(59_000)
    expect((await ask()).json).toMatchObject({ valid: true })
    clock.advance(-59_000)
  })

  it('of a node that is blocked or unknown is invalid, as is no code', async () => {
    nodes[other] = { ...nodes[other], blockedAt: 1 }
    expect((await ask()).json).toEqual({ valid: false, reason: 'invalid' })
    delete nodes[other]
    expect((await ask()).json).toEqual({ valid: false, reason: 'invalid' })
    expect((await ask(body({ edgeHmacCode: 'x' }))).json).toEqual({ valid: false, reason: 'invalid' })
  })

  it('is checked for no node that is blocked, unknown, or has a revoked token', async () => {
    nodes[nodeId] = { blockedAt: 1 }
    expect(await ask()).toMatchObject(refused('invalid_token', /its node is blocked/))
    delete nodes[nodeId]
    expect(await ask()).toMatchObject(refused('invalid_token', /its node is blocked/))
    nodes[nodeId] = { blockedAt: null }
    edgeReason = 'it was revoked'
    expect(await ask()).toMatchObject(refused('invalid_token', /it was revoked/))
    edgeReason = undefined
    reason = 'its account was revoked'
    expect(await ask()).toMatchObject(refused('invalid_token', /its account was revoked/))
  })

  it('is checked for no token of another audience', async () => {
    expect(await ask(body(), tokenFor({ aud: 'another' }))).toMatchObject({
      status: 400,
      json: { error: 'invalid_token' },
    })
  })

  it.each([
    ['no JSON', '{', /^the body is not JSON: /],
    ['too deep', '{"a":{"b":[]}}', /^the body is not JSON: /],
    ['null', 'null', /^the body is not \{"edgeHmacCode"/],
    ['no code', body({ edgeHmacCode: 7 }), /^the body is not \{"edgeHmacCode"/],
    ['no node', body({ nodeId: null }), /^the body is not \{"edgeHmacCode"/],
    ['no URI', body({ uri: undefined }), /^the body is not \{"edgeHmacCode"/],
  ])('is not checked for a body that is %s', async (_, text, description) => {
    expect(await ask(text)).toMatchObject(refused('invalid_request', description))
  })
})
