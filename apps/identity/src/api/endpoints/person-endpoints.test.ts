/** What a token of a person may do: show its account, and change shares of an owner. */
import { cliClientId, type OAuthError } from '@selvedge/protocol'
import { accountApiMethods } from '@selvedge/protocol/console'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestIssuer, projectOf } from '../../../../../tests/harness/grants.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { addAccountApi } from './account-api.ts'
import { addUserInfoEndpoint } from './userinfo.ts'

const clock = createFakeClock()
const now = seconds(clock)
const { issuer, privateKey, verifier } = createTestIssuer(clock)

let app: FastifyInstance
let projects: Record<string, Project>
let revoked: string | undefined
let proofKey: string
let proofs: object[]
let limited: string[]
let role: 'owner' | 'member'
let accountOfMember: string
let isSignedIn: boolean
let calls: object[]
let failure: Error | undefined
let log: ReturnType<typeof createMemoryLog>

beforeEach(() => {
  projects = { c: projectOf(), [cliClientId]: projectOf({ accountId: '' }) }
  revoked = undefined
  proofKey = 'key'
  proofs = []
  limited = []
  role = 'owner'
  accountOfMember = 'a'
  isSignedIn = true
  calls = []
  failure = undefined
  log = createMemoryLog()
  app = Fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
  app.setErrorHandler((cause: OAuthError, _, reply) =>
    reply.code(400).send({ error: cause.code, error_description: cause.message }),
  )
  const person = { personId: 'ada', email: 'ada@example.com', password: '' }
  const parts = {
    ...{
      clock,
      verifier,
      issuer: () => issuer,
      log,
      trustedProxies: createAddressSet([]),
    },
    signIns: { find: async () => undefined },
    revocations: { reasonFor: () => revoked },
    projects: { find: async (id: string) => projects[id] },
    nodes: { find: async () => undefined },
    accounts: { byId: async (accountId: string) => ({ accountId, email: 'account@example.com' }) },
    people: {
      byId: async (id: string) => (id === 'ada' ? person : undefined),
      ofSignIn: async (sid: string) => (isSignedIn && sid === 'sign-in' ? person : undefined),
      memberships: async () => [
        { accountId: 'x', name: '', role: 'member' },
        { accountId: accountOfMember, name: '', role },
      ],
    },
    dpop: {
      nonce: () => 'nonce',
      async verify(proof: string, about: object) {
        proofs.push({ proof, ...about })
        return { jkt: proofKey }
      },
    },
    limits: { takeFor: (client: string, account: string) => void limited.push(`${client} ${account}`) },
    handlers: Object.fromEntries(
      Object.keys(accountApiMethods).map((name) => [
        name,
        async (_: object, actor: object, context: object) => {
          if (failure) throw failure
          calls.push({ actor, context })
          return []
        },
      ]),
    ),
  } as never
  addUserInfoEndpoint(app, parts)
  addAccountApi(app, parts)
})
afterEach(() => app.close())

const sign = (typ: string, more: object) =>
  signJws({ typ, kid: 'k' }, { iss: issuer, jti: 'j', iat: now, exp: now + 600, ...more }, privateKey)
const refused = (error: string, description: RegExp) => ({
  status: 400,
  json: { error, error_description: expect.stringMatching(description) },
})

describe('the user of an access token', () => {
  const access = (more: object = {}) =>
    sign('at+jwt', {
      ...{
        client_id: 'c',
        azp: 'c',
        account_id: 'a',
        sub: 'a',
        sid: 'sign-in',
        scope: 'openid',
        aud: issuer,
      },
      ...more,
    })
  async function get(token: string | undefined, { method = 'GET', scheme = 'Bearer', dpop = '' } = {}) {
    const response = await app.inject({
      ...{ method: method as 'GET', url: '/userinfo' },
      headers: {
        ...(token !== undefined && { authorization: `${scheme} ${token}` }),
        ...(dpop !== '' && { dpop }),
      },
    })
    return {
      status: response.statusCode,
      json: response.json(),
      challenge: response.headers['www-authenticate'],
    }
  }

  it('is its account, or the person of an app, by GET and POST', async () => {
    for (const method of ['GET', 'POST'])
      expect(await get(access(), { method })).toEqual({
        status: 200,
        json: { sub: 'a', account_id: 'a', email: 'account@example.com' },
        challenge: undefined,
      })
    expect((await get(access({ sub: 'ada' }))).json).toEqual({
      ...{ sub: 'ada', account_id: 'a', email: 'ada@example.com' },
    })
  })

  it('is shown to no client without a token, and the answer names what is needed', async () => {
    expect(await get(undefined)).toMatchObject({
      ...refused('invalid_token', /^send the access token/),
      challenge: 'Bearer',
    })
  })

  it.each<[what: string, token: string, description: RegExp]>([
    ['no token', 'x', /^the token is no access token of this service$/],
    [
      'a developer ID token',
      sign('JWT', { sub: 'a', aud: 'c', account_id: 'a', auth_time: 1 }),
      /^this is .*developer ID token.*; \/userinfo needs an access token$/,
    ],
    [
      'an access token of another issuer',
      access({ iss: 'https://evil.example' }),
      /^the token is no access token of this service$/,
    ],
    [
      'an expired one',
      access({ iat: now - 700, exp: now - 600 }),
      /^the access token is not valid any more: it has expired$/,
    ],
    [
      'one without the scope',
      access({ scope: 'edge:mcm' }),
      /^the access token does not have the scope "openid"$/,
    ],
  ])('is not shown for %s', async (_, token, description) => {
    expect(await get(token)).toMatchObject({ ...refused('invalid_token', description), challenge: 'Bearer' })
  })

  it('is not shown for a token that was revoked, or of a project that is off', async () => {
    revoked = 'it was revoked'
    expect(await get(access())).toMatchObject(refused('invalid_token', /it was revoked$/))
    revoked = undefined
    projects.c = projectOf({ active: false })
    expect(await get(access())).toMatchObject(refused('invalid_token', /its project is turned off$/))
  })

  it('is shown for a token that is bound to a key with a proof of that key alone', async () => {
    const bound = access({ cnf: { jkt: 'key' } })
    expect(await get(bound, { scheme: 'DPoP', dpop: 'p' })).toMatchObject({ status: 200 })
    expect(proofs).toMatchObject([{ proof: 'p', htm: 'GET', htu: `${issuer}/userinfo`, accessToken: bound }])
    expect((await get(bound)).status).toBe(400)
    expect((await get(bound, { scheme: 'DPoP' })).json.error).toBe('invalid_dpop_proof')
    proofKey = 'another'
    expect(await get(bound, { scheme: 'DPoP', dpop: 'p' })).toMatchObject(
      refused('invalid_token', /another key/),
    )
  })
})

describe('the API of an account', () => {
  const developer = (more: object = {}) =>
    sign('JWT', {
      ...{
        sub: 'a',
        aud: cliClientId,
        account_id: 'a',
        auth_time: 1,
        sid: 'sign-in',
        scope: 'openid edge:mcm',
      },
      ...more,
    })
  async function call(token: string | undefined = developer(), body: unknown = undefined) {
    const request = body ?? { jsonrpc: '2.0', id: 1, method: 'group.list', params: {} }
    const response = await app.inject({
      ...{ method: 'POST', url: '/account/api', remoteAddress: '192.0.2.7' },
      headers: {
        'content-type': 'application/json',
        ...(token !== '' && { authorization: `Bearer ${token}` }),
      },
      payload: typeof request === 'string' ? request : JSON.stringify(request),
    })
    return {
      status: response.statusCode,
      json: response.body === '' ? undefined : response.json(),
      challenge: response.headers['www-authenticate'],
    }
  }

  it('calls a method for an owner who signed in with the command line, and counts it', async () => {
    const { status, json, challenge } = await call()
    expect([status, json.error, challenge]).toEqual([200, undefined, undefined])
    expect(limited).toEqual([`${cliClientId} a`])
    expect(calls).toMatchObject([
      {
        actor: { person: { personId: 'ada' }, membership: { accountId: 'a', role: 'owner' } },
        context: { address: '192.0.2.7' },
      },
    ])
  })

  it('is for a project of the account as well', async () => {
    expect((await call(developer({ aud: 'c' }))).status).toBe(200)
    projects.c = projectOf({ accountId: 'b' })
    expect(await call(developer({ aud: 'c' }))).toMatchObject(
      refused('invalid_token', /^the sign-in is for a project of another account$/),
    )
  })

  it('is for owners', async () => {
    role = 'member'
    expect((await call()).json.error).toMatchObject({
      data: { reason: 'forbidden', detail: 'this is for owners of the account; you are a member' },
    })
    expect(calls).toEqual([])
  })

  it.each<[what: string, token: string, description: RegExp]>([
    ['no token', '', /^send the developer ID token/],
    [
      'another token',
      sign('at+jwt', { client_id: 'c', account_id: 'a', sub: 'a', scope: 'edge:mcm', aud: issuer }),
      /^the token is no developer ID token: sign in/,
    ],
    [
      'an expired token',
      developer({ iat: now - 700, exp: now - 600 }),
      /^the token is not valid: it has expired$/,
    ],
    ['no scope', developer({ scope: undefined }), /^the sign-in does not have the scope "edge:mcm"$/],
    ['another scope', developer({ scope: 'openid' }), /^the sign-in does not have the scope "edge:mcm"$/],
    ['no sign-in', developer({ sid: undefined }), /^the token is of no person of the account any more$/],
    ['a revoked sign-in', developer({ sid: 'other' }), /^the token is of no person of the account any more$/],
  ])('refuses %s', async (_, token, description) => {
    expect(await call(token)).toMatchObject({ ...refused('invalid_token', description), challenge: 'Bearer' })
    expect([limited, calls]).toEqual([[], []])
  })

  it('is answered as JSON, one call at a time, and a notification not at all', async () => {
    const send = (payload: string) =>
      app.inject({
        ...{ method: 'POST', url: '/account/api', payload },
        headers: { authorization: `Bearer ${developer()}`, 'content-type': 'application/json' },
      })
    const one = { jsonrpc: '2.0', method: 'group.list', params: {} }
    expect((await send(JSON.stringify({ ...one, id: 1 }))).headers['content-type']).toMatch(
      /^application\/json/,
    )
    expect(
      (await send(JSON.stringify([one, one].map((each, id) => ({ ...each, id }))))).json(),
    ).toMatchObject({
      error: { code: -32013 },
    })
    expect(await send(JSON.stringify([one]))).toMatchObject({ statusCode: 204, body: '' })
  })

  it('that fails is in the log, with the name of its method', async () => {
    failure = new Error('broken')
    expect((await call()).json.error).toMatchObject({ data: { errorId: expect.any(String) } })
    expect(log.lines.join()).toMatch(/a method of the account failed.*group\.list/)
  })

  it('refuses a person who left the account', async () => {
    accountOfMember = 'b'
    expect(await call()).toMatchObject(refused('invalid_token', /of no person of the account any more$/))
    accountOfMember = 'a'
    isSignedIn = false
    expect(await call()).toMatchObject(refused('invalid_token', /of no person of the account any more$/))
  })
})
