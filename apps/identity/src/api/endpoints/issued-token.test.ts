/** Introspection (RFC 7662) and revocation (RFC 7009) of every kind of token, over HTTP. */
import { OAuthError } from '@selvedge/protocol'
import { edgeAudience } from '@selvedge/protocol/tokens'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import { seconds } from '@selvedge/service-kit/clock'
import { addFormRoutes } from '@selvedge/service-kit/http-app'
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  createTestIssuer,
  type GrantStore,
  openGrantStore,
  projectOf,
} from '../../../../../tests/harness/grants.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { newSid } from '../../registry/sign-ins/sign-ins.ts'
import { addIntrospectEndpoint } from './introspect.ts'
import { addRevokeEndpoint } from './revoke.ts'
import { reasonAgainst } from './token-state.ts'

const clock = createFakeClock()
const start = clock.now()
const now = seconds(clock)
const { issuer, privateKey, verifier } = createTestIssuer(clock)
const nodeId = 'ab'.repeat(28)

/** What the verifier fails with: its keys cannot be read. */
let failure: Error | undefined
let opened: GrantStore
let app: FastifyInstance
let project: Project | undefined
/** Whether the node is known, and blocked. */
let node: { blockedAt: number | null } | undefined
/** Developer ID tokens that are stored, and those that were revoked. */
let stored: string[]
let ended: string[]
let recorded: object[]

beforeEach(async () => {
  clock.set(start)
  opened = await openGrantStore(clock)
  project = projectOf()
  node = { blockedAt: null }
  stored = []
  ended = []
  failure = undefined
  recorded = []
  app = Fastify()
  app.setErrorHandler((cause: Error & { code?: string }, _, reply) =>
    reply.code(400).send({ error: cause.code, error_description: cause.message }),
  )
  const parts = {
    ...{ clock, issuer: () => issuer },
    verifier: {
      verifyEnded: (...of: Parameters<typeof verifier.verifyEnded>) =>
        failure ? Promise.reject(failure) : verifier.verifyEnded(...of),
    },
    signIns: opened.signIns,
    revocations: opened.revocations,
    projects: { find: async (clientId: string) => (clientId === 'c' ? project : undefined) },
    nodes: {
      find: async (id: string) => {
        expect(id).toBe(nodeId)
        return node
      },
    },
    developerTokens: {
      find: async (jti: string) => (stored.includes(jti) ? {} : undefined),
      revoke: async (jti: string) => ({ isNews: !ended.includes(jti) && ended.push(jti) > 0 }),
    },
    audit: { record: async (entry: object) => void recorded.push(entry) },
    trustedProxies: createAddressSet([]),
  } as never
  addFormRoutes(app, (routes) => {
    addIntrospectEndpoint(routes, parts)
    addRevokeEndpoint(routes, parts)
  })
})
afterEach(async () => {
  await app.close()
  await opened.close()
})

async function post(url: string, form: Record<string, string>) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { statusCode, body } = await app.inject({
    ...{ method: 'POST', url, headers, remoteAddress: '192.0.2.7' },
    payload: new URLSearchParams(form).toString(),
  })
  return { status: statusCode, json: body === '' ? undefined : JSON.parse(body) }
}
const introspect = async (token: string, clientId = 'c') =>
  (await post('/introspect', { token, client_id: clientId })).json
const revoke = (token: string, clientId = 'c') => post('/revoke', { token, client_id: clientId })
const inactive = { active: false }

const base = { iss: issuer, jti: 'j', iat: now, exp: now + 600 }
const sign = (typ: string, claims: object) => signJws({ typ, kid: 'k' }, { ...base, ...claims }, privateKey)
const ofClient = { client_id: 'c', azp: 'c', account_id: 'a', sub: 'a', scope: 'openid' }
const tokens = {
  access: (more: object = {}) => sign('at+jwt', { ...ofClient, aud: edgeAudience, node_id: nodeId, ...more }),
  person: (more: object = {}) => sign('at+jwt', { ...ofClient, aud: issuer, sid: 'sign-in', ...more }),
  edge: (more: object = {}) =>
    sign('edge-id+jwt', {
      ...{ sub: 'a', aud: issuer, azp: nodeId, node_id: nodeId, node_name: 'n', cnf: { jkt: 'key' } },
      ...more,
    }),
  developer: (more: object = {}) =>
    sign('JWT', { sub: 'a', aud: 'c', account_id: 'a', auth_time: 1, ...more }),
}

const lease = () =>
  sign('lease+jwt', {
    ...{ ...ofClient, aud: `urn:selvedge:node:${nodeId}`, node_id: nodeId, cnf: { jkt: 'key' } },
    ...{ sid: 'sign-in', auth_time: 1, epoch: 3 },
  })

async function signIn(more: object = {}) {
  const sid = newSid()
  await opened.store.transaction([
    sql`INSERT INTO accounts (account_id, email, created_at) VALUES ('a', 'a@example.com', 0)`,
    sql`INSERT INTO people (person_id, email, password, created_at) VALUES ('ada', 'ada@example.com', '', 0)`,
    sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`,
  ])
  const refreshToken = await opened.signIns.begin({
    ...{ sid, clientId: 'c', accountId: 'a', personId: 'ada', email: 'ada@example.com', nodeId: '' },
    ...{ origin: '', scope: 'openid offline_access', audience: issuer, jkt: '', authTime: 5, epoch: 4 },
    described: '',
    ...more,
  })
  return { sid, refreshToken }
}

describe('introspection', () => {
  it('shows the claims of each kind of token to its client', async () => {
    expect(await introspect(tokens.access())).toMatchObject({
      ...{ active: true, token_type: 'Bearer', client_id: 'c', node_id: nodeId, exp: now + 600 },
    })
    expect(await introspect(tokens.access({ cnf: { jkt: 'key' } }))).toMatchObject({ token_type: 'DPoP' })
    expect(await introspect(tokens.person())).toMatchObject({
      active: true,
      token_type: 'Bearer',
      sid: 'sign-in',
    })
    expect(await introspect(tokens.developer())).toMatchObject({
      ...{ active: true, token_type: 'N_A', client_id: 'c', aud: 'c' },
    })
    const edge = await introspect(tokens.edge(), 'anyone')
    expect(edge).toMatchObject({ active: true, token_type: 'N_A', node_id: nodeId })
    expect(edge).not.toHaveProperty('client_id')
  })

  it('shows a token for the edge and a resource, and no token for a resource alone', async () => {
    const audience = (...aud: string[]) => introspect(tokens.access({ aud }))
    expect(await audience(edgeAudience, 'https://backend.example')).toMatchObject({ active: true })
    expect(await audience('https://backend.example')).toEqual(inactive)
  })

  it.each(['access', 'person', 'developer'] as const)(
    'shows another client nothing of its %s token',
    async (kind) => {
      expect(await introspect(tokens[kind](), 'other')).toEqual(inactive)
    },
  )

  it('shows nothing of an unknown token', async () => {
    const otherKey = createTestIssuer(clock).privateKey
    const foreign = signJws(
      { typ: 'at+jwt', kid: 'k' },
      { ...base, ...ofClient, aud: edgeAudience, node_id: nodeId },
      otherKey,
    )
    const ofOtherType = sign('x+jwt', { ...ofClient, aud: edgeAudience, node_id: nodeId })
    for (const each of [
      'x',
      'a.b.c',
      foreign,
      ofOtherType,
      tokens.edge({ aud: undefined }),
      tokens.developer({ aud: 7 }),
    ])
      expect(await introspect(each)).toEqual(inactive)
  })

  it('shows nothing of a lease, which is for one runtime', async () => {
    expect(await introspect(lease())).toEqual(inactive)
    // It can be revoked all the same.
    expect((await revoke(lease())).status).toBe(200)
    expect(recorded).toMatchObject([{ detail: 'lease token' }])
  })

  it('fails if it cannot be decided now who issued a token', async () => {
    failure = new OAuthError('temporarily_unavailable', 'later')
    const refused = { status: 400, json: { error: 'temporarily_unavailable' } }
    expect(await post('/introspect', { token: tokens.access(), client_id: 'c' })).toMatchObject(refused)
    expect(await revoke(tokens.access())).toMatchObject(refused)
  })

  it('needs a token', async () => {
    expect(await post('/introspect', { client_id: 'c' })).toMatchObject({ status: 400 })
    expect(await post('/revoke', { client_id: 'c' })).toMatchObject({ status: 400 })
  })

  it.each(['access', 'person', 'developer', 'edge'] as const)(
    'shows nothing of a %s token that has expired',
    async (kind) => {
      const token = tokens[kind]()
      clock.advance(599_999)
      expect(await introspect(token)).toMatchObject({ active: true })
      clock.advance(1)
      expect(await introspect(token)).toEqual(inactive)
    },
  )

  it.each(['access', 'person', 'developer'] as const)(
    'shows nothing of a %s token once its project is turned off or gone',
    async (kind) => {
      project = projectOf({ active: false })
      expect(await introspect(tokens[kind]())).toEqual(inactive)
      project = undefined
      expect(await introspect(tokens[kind]())).toEqual(inactive)
      expect(await introspect(tokens.edge())).toMatchObject({ active: true })
    },
  )

  it.each(['access', 'edge'] as const)('shows nothing of an %s token of a blocked node', async (kind) => {
    node = { blockedAt: start }
    expect(await introspect(tokens[kind]())).toEqual(inactive)
    expect(await introspect(tokens.person())).toMatchObject({ active: true })
    // A node of another cloud is not known here.
    node = undefined
    expect(await introspect(tokens[kind]())).toMatchObject({ active: true })
  })

  it('shows a refresh token while it is the newest of its sign-in', async () => {
    const { sid, refreshToken } = await signIn()
    expect(await introspect(refreshToken)).toEqual({
      ...{ active: true, token_type: 'N_A', iss: issuer, sub: 'a', scope: 'openid offline_access' },
      ...{ exp: now + 86_400, jti: sid, iat: now, account_id: 'a', client_id: 'c', epoch: expect.anything() },
    })
    expect(await introspect(refreshToken, 'other')).toEqual(inactive)
    const rotation = await opened.signIns.rotate(refreshToken)
    // Its answer may have been lost: for ten seconds, the one before is accepted.
    expect(await introspect(refreshToken)).toMatchObject({ active: true })
    clock.advance(10_001)
    expect(await introspect(refreshToken)).toEqual(inactive)
    expect(await introspect((rotation as { refreshToken: string }).refreshToken)).toMatchObject({
      active: true,
    })
  })

  it('shows the key of a refresh token that is bound to one', async () => {
    expect(await introspect((await signIn({ jkt: 'key' })).refreshToken)).toMatchObject({
      cnf: { jkt: 'key' },
    })
  })

  it('shows nothing of a refresh token once its project is turned off, or its sign-in revoked', async () => {
    const { sid, refreshToken } = await signIn()
    project = projectOf({ active: false })
    expect(await introspect(refreshToken)).toEqual(inactive)
    project = undefined
    expect(await introspect(refreshToken)).toEqual(inactive)
    project = projectOf()
    expect(await introspect(refreshToken)).toMatchObject({ active: true })
    await opened.revocations.revokeAll('account', 'a')
    expect(await introspect(refreshToken)).toEqual(inactive)
    await opened.signIns.revoke(sid)
    expect(await introspect(refreshToken)).toEqual(inactive)
  })
})

describe('revocation', () => {
  it.each(['access', 'person', 'edge', 'developer'] as const)(
    'ends a token for its holder, and is recorded once: %s',
    async (kind) => {
      const token = tokens[kind]()
      expect((await revoke(token)).status).toBe(200)
      expect(await introspect(token)).toEqual(inactive)
      expect((await revoke(token)).status).toBe(200)
      expect(recorded).toEqual([
        {
          accountId: 'a',
          actor: kind === 'edge' ? nodeId : 'c',
          action: 'token.revoke',
          subject: 'j',
          address: '192.0.2.7',
          outcome: 'ok',
          detail: `${kind === 'person' ? 'access' : kind} token`,
        },
      ])
    },
  )

  it('of an edge ID token ends all that its node got until then', async () => {
    await revoke(tokens.edge())
    expect(await introspect(tokens.edge({ jti: 'same second' }))).toEqual(inactive)
    expect(await introspect(tokens.edge({ jti: 'later', iat: now + 1 }))).toMatchObject({ active: true })
    expect(await introspect(tokens.access({ jti: 'access' }))).toMatchObject({ active: true })
    expect(opened.revocations.isRevoked('j')).toBe(false)
  })

  it('of a refresh token ends its sign-in', async () => {
    const { sid, refreshToken } = await signIn()
    expect((await revoke(refreshToken)).status).toBe(200)
    expect(await introspect(refreshToken)).toEqual(inactive)
    expect(opened.revocations.isRevoked(sid)).toBe(true)
    await revoke(refreshToken)
    expect(recorded).toMatchObject([{ accountId: 'a', actor: 'c', subject: sid, detail: 'refresh token' }])
  })

  it('of a developer ID token that is stored ends all that came from it', async () => {
    stored = ['j']
    await revoke(tokens.developer())
    expect(ended).toEqual(['j'])
    expect(recorded).toHaveLength(1)
    await revoke(tokens.developer())
    expect(recorded).toHaveLength(1)
  })

  it('of a developer ID token of a sign-in ends this one alone', async () => {
    stored = ['j']
    await revoke(tokens.developer({ sid: 'sign-in' }))
    expect(ended).toEqual([])
    expect(opened.revocations.isRevoked('j')).toBe(true)
    expect(opened.revocations.isRevoked('sign-in')).toBe(false)
  })

  it.each([
    ['of a token for a runtime until it expires', () => tokens.access(), now + 600],
    ['of a lease until it expires', () => lease(), now + 600],
    ['of a token for no runtime not at all', () => tokens.person(), 0],
    [
      'of a developer ID token for as long as access tokens from it may last',
      () => tokens.developer(),
      now + 86_400,
    ],
    ['of a developer ID token of a sign-in not at all', () => tokens.developer({ sid: 's' }), 0],
  ])('is in the list for devices: that %s', async (_, token, until) => {
    await revoke(token())
    const [row] = await opened.store.run(sql`SELECT listed_until FROM revocations WHERE subject = 'j'`)
    const listedUntil = row!.listed_until as number
    if (until === 0) expect(listedUntil).toBe(0)
    else expect(Math.abs(listedUntil - until * 1000)).toBeLessThanOrEqual(300_000)
  })

  it('is for the client of the token only', async () => {
    for (const token of [tokens.access(), tokens.developer(), (await signIn()).refreshToken]) {
      expect(await revoke(token, 'other')).toMatchObject({
        status: 400,
        json: { error: 'invalid_grant', error_description: 'the token was issued to another client' },
      })
      expect(await introspect(token)).toMatchObject({ active: true })
      expect((await post('/revoke', { token })).status).toBe(400)
    }
  })

  it('of an unknown token is no error, and changes nothing', async () => {
    expect((await revoke('x')).status).toBe(200)
    expect(recorded).toEqual([])
  })

  it('of an edge ID token of a node without an account is not recorded', async () => {
    const token = tokens.edge({ sub: '' })
    expect((await revoke(token)).status).toBe(200)
    expect(await introspect(token)).toEqual(inactive)
    expect(recorded).toEqual([])
  })
})

it('a token that is not valid has a reason', async () => {
  const claims = { ...base, jti: 'r', node_id: nodeId, client_id: 'c', account_id: 'a' }
  const reason = (revoked?: string) =>
    reasonAgainst({ kind: 'access', claims } as never, {
      clock,
      revocations: { reasonFor: () => revoked },
      projects: { find: async () => project } as never,
      nodes: { find: async () => node } as never,
    })
  expect(await reason()).toBeUndefined()
  expect(await reason('it was revoked')).toBe('it was revoked')
  node = { blockedAt: 1 }
  expect(await reason()).toBe('its node is blocked')
  project = undefined
  expect(await reason()).toBe('its project is turned off')
  clock.advance(600_000)
  expect(await reason()).toBe('it has expired')
})
