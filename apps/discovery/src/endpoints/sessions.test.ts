/** The session of a node with the discovery service: who may begin one, and what is accepted of what the node states. */
import { generateKeyPairSync } from 'node:crypto'
import { defaultSharing, maxStated, type OAuthError, statedBytes } from '@selvedge/protocol'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { nodeIdOf } from '@selvedge/service-kit/tokens'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addSessionsEndpoint } from './sessions.ts'

const day = 86_400_000
const clock = createFakeClock()
const { kty, crv, x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
  format: 'jwk',
})
const jwk = { kty, crv, x, y } as never
const nodeId = nodeIdOf(jwk)

let app: FastifyInstance
let claims: Record<string, unknown>
let revoked: string | undefined
let stated: object[]
let begun: unknown[]
let forgotten: unknown[]
let proofs: object[]
beforeEach(() => {
  claims = {
    iss: 'https://edges.example',
    sub: 'a',
    node_id: nodeId,
    node_name: 'van',
    cnf: { jkt: 'key' },
    epoch: 3,
  }
  revoked = undefined
  stated = []
  begun = []
  forgotten = []
  proofs = []
  app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
  app.setErrorHandler((cause: OAuthError, _, reply) =>
    reply.code(cause.status).send({ error: cause.code, error_description: cause.message }),
  )
  addSessionsEndpoint(app, {
    clock,
    store: { forget: async (...of: unknown[]) => void forgotten.push(of) },
    registry: {
      async state(node: object, token: object, leave: (former: string, next: number) => Promise<void>) {
        stated.push({ node, token })
        await leave('former', 8)
        return 7
      },
    },
    sessions: {
      begin(...of: unknown[]) {
        begun.push(of)
        return { ticket: 't' }
      },
    },
    trust: {
      edgeVerifier: {
        verify: async (_: string, __: object, audience: string) => ({ ...claims, aud: audience }),
      },
      reasonAgainst: () => revoked,
      realms: { ofEdgeIssuer: (issuer: string, account: string) => `${account} of ${issuer}` },
    },
    proof: () => ({
      url: 'https://discovery.example',
      dpop: {
        nonce: () => 'nonce',
        verify: async (proof: string, about: object) => {
          proofs.push({ proof, ...about })
          return { jkt: 'key', jwk }
        },
      },
    }),
    limits: { trustedProxies: createAddressSet([]), address: 3 },
  } as never)
})
afterEach(() => app.close())

const statement = {
  key: jwk,
  addresses: ['192.0.2.9:8080'],
  services: [],
  sharing: defaultSharing,
  trackUntil: 0,
}
async function begin(more: object | string = {}, headers: object = {}) {
  const payload = typeof more === 'string' ? more : JSON.stringify({ ...statement, ...more })
  const response = await app.inject({
    ...{ method: 'POST', url: '/v1/sessions', payload, remoteAddress: '192.0.2.7' },
    headers: { 'content-type': 'application/json', authorization: 'DPoP token', dpop: 'p', ...headers },
  })
  return { status: response.statusCode, json: response.json() }
}

it('begins for the node of the token and the key, with what it stated', async () => {
  expect(await begin()).toEqual({ status: 200, json: { ticket: 't' } })
  expect(proofs).toEqual([
    {
      ...{ proof: 'p', htm: 'POST', htu: 'https://discovery.example/v1/sessions', accessToken: 'token' },
      body: JSON.stringify(statement),
    },
  ])
  const accountId = 'a of https://edges.example'
  expect(stated).toEqual([
    {
      node: {
        nodeId,
        nodeName: 'van',
        accountId,
        addresses: statement.addresses,
        services: [],
        trackUntil: 0,
      },
      token: expect.objectContaining({ epoch: 3 }),
    },
  ])
  expect(begun).toEqual([
    [expect.objectContaining(claims), { accountId, term: 7 }, expect.objectContaining(statement)],
  ])
  // What another account knew of the node is forgotten.
  expect(forgotten).toEqual([['former', nodeId, 8]])
})

it.each<[what: string, change: () => void, error: string, description: RegExp]>([
  ['without an account', () => void (claims.sub = ''), 'access_denied', /not associated with an account/],
  ['with a revoked token', () => void (revoked = 'it was revoked'), 'invalid_token', /it was revoked/],
  [
    'with the token of another key',
    () => void (claims.cnf = { jkt: 'other' }),
    'invalid_token',
    /another key/,
  ],
])('begins for no node %s', async (_, change, error, description) => {
  change()
  expect((await begin()).json).toEqual({ error, error_description: expect.stringMatching(description) })
  expect([stated, begun]).toEqual([[], []])
})

it.each<[what: string, body: object | string, description: RegExp]>([
  ['no JSON', '{', /^the body is not JSON/],
  ['another type', { addresses: 'x' }, /^the field "addresses": /],
  ['another type in a list', { addresses: [7] }, /^the field "addresses\.0": /],
  [
    'a track for longer than a service stores one',
    { trackUntil: 1e15 },
    /^a track is stored for \d+ days at most$/,
  ],
])('begins with no statement of %s', async (_, body, description) => {
  expect((await begin(body)).json).toEqual({
    error: 'invalid_request',
    error_description: expect.stringMatching(description),
  })
  expect(stated).toEqual([])
})

it('accepts addresses and services of so many bytes together', async () => {
  const of = (bytes: number) => {
    const addresses = Array.from({ length: 16 }, () => 'a'.repeat(100))
    const service = (name: string, path: string) => ({ name, path: `/${path}` })
    const filled = Array.from({ length: 8 }, (_, at) => service(String(at), 'x'.repeat(250)))
    const size = statedBytes({ addresses, services: [...filled, service('last', '')] })
    return { addresses, services: [...filled, service('last', 'x'.repeat(bytes - size))] }
  }
  expect((await begin(of(maxStated.bytes))).status).toBe(200)
  expect((await begin(of(maxStated.bytes + 1))).json).toEqual({
    error: 'invalid_request',
    error_description: 'addresses and services are 4097 bytes; at most 4096 are accepted',
  })
})

it('accepts a track up to a minute beyond the longest one, since clocks differ', async () => {
  const { json } = await begin({ trackUntil: 1e15 })
  const days = Number(/\d+/.exec(json.error_description)![0])
  const latest = clock.now() + days * day + 60_000
  expect((await begin({ trackUntil: latest })).status).toBe(200)
  expect((await begin({ trackUntil: latest + 1 })).status).toBe(400)
})

it('begins so many times a minute for one address, also for requests that are refused', async () => {
  for (let at = 0; at < 3; at++) await begin('{')
  expect(await begin()).toMatchObject({ status: 429, json: { error: 'temporarily_unavailable' } })
  expect(proofs).toHaveLength(3)
})
