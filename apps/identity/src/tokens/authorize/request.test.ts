/** Which authorization requests are accepted, what they are for, and which errors return to the app. */
import { requestUriPrefix } from '@selvedge/protocol'
import { appIdProfile, edgeAudience, edgeIdProfile } from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import { beforeEach, describe, expect, it } from 'vitest'
import { createTestIssuer, projectOf } from '../../../../../tests/harness/grants.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { RefusedRequest } from './refused-request.ts'
import { createReadRequest } from './request.ts'

const clock = createFakeClock()
const { issuer, privateKey, verifier } = createTestIssuer(clock)
const cloud = createTestIssuer(clock)
const redirectUri = 'https://app.example/cb'
const resource = 'https://backend.example'
const nodeId = 'a'.repeat(56)
const challenge = 'x'.repeat(43)
const jkt = 'k'.repeat(43)
const pushedUri = `${requestUriPrefix}pushed`
const iat = seconds(clock)
const common = { iss: issuer, iat, exp: iat + 100, jti: 'j' }
const edgeClaims = { ...common, sub: 'a', aud: issuer, node_id: nodeId, node_name: 'n', cnf: { jkt } }
const hintClaims = {
  ...common,
  sub: 'ada',
  aud: 'c',
  account_id: 'a',
  sid: 's',
  email: 'ada@example.com',
  auth_time: iat,
}
const edgeToken = (change: object = {}) =>
  signJws({ typ: edgeIdProfile.typ, kid: 'k' }, { ...edgeClaims, ...change }, cloud.privateKey)
const hint = (change: object = {}, key = privateKey) =>
  signJws({ typ: appIdProfile.typ, kid: 'k' }, { ...hintClaims, ...change }, key)

type Fields = Readonly<Record<string, string | undefined>>
const smallest = {
  client_id: 'c',
  redirect_uri: redirectUri,
  response_type: 'code',
  code_challenge: challenge,
  code_challenge_method: 'S256',
}
const queryOf = (fields: Fields): string => {
  const given = Object.entries({ ...smallest, ...fields }).filter((each) => each[1] !== undefined)
  return `${new URLSearchParams(given as [string, string][])}`
}

let project: Project
/** Form that was pushed for the client `c`. */
let pushed: string
let blockedAt: number | null
/** Reasons for which the edge ID token is revoked: here, and by its issuer. */
let revokedHere: string | undefined
let revokedThere: string | undefined
let fails: boolean
beforeEach(() => {
  project = projectOf({ redirectUris: [redirectUri], resources: [resource] })
  pushed = queryOf({ state: 'pushed' })
  blockedAt = null
  revokedHere = undefined
  revokedThere = undefined
  fails = false
})

const read = (query: string) =>
  createReadRequest({
    issuer: () => issuer,
    projects: {
      async find(clientId: string) {
        if (fails) throw new Error('the disk is full')
        return clientId === 'c' ? project : undefined
      },
    } as never,
    nodes: { find: async (id: string) => (id === nodeId ? { blockedAt } : undefined) } as never,
    revocations: { edgeReasonFor: () => revokedHere } as never,
    pushedRequests: {
      find: async (uri, clientId) => (uri === pushedUri && clientId === 'c' ? pushed : undefined),
    },
    verifier,
    edgeVerifier: cloud.verifier,
    trust: { foreignReasonAgainst: async () => revokedThere },
  })(query)

/** The error, and whether the app gets it. */
async function refusalOf(query: string) {
  const refused = await read(query).catch((cause: unknown) => cause)
  if (!(refused instanceof RefusedRequest)) throw refused
  return { error: `${refused.error.code}: ${refused.message}`, returnTo: refused.returnTo }
}

it('a request without a device is for the person and this service', async () => {
  expect(await read(queryOf({}))).toStrictEqual({
    project,
    redirectUri,
    state: undefined,
    challenge,
    nonce: '',
    loginHint: '',
    prompts: new Set(),
    maxAgeSeconds: undefined,
    jkt: '',
    scope: 'openid',
    audience: issuer,
    node: undefined,
    expectedPersonId: undefined,
    requestUri: undefined,
  })
})

it('a request with a device is for the device', async () => {
  const request = await read(
    queryOf({ edge_id_token: edgeToken(), scope: 'openid edge:mcm edge:mcm', state: 's', dpop_jkt: jkt }),
  )
  expect(request).toMatchObject({
    node: edgeClaims,
    audience: edgeAudience,
    scope: 'openid edge:mcm',
    state: 's',
    jkt,
  })
})

it('fields without a value are ignored (RFC 6749 § 3.1)', async () => {
  expect(await read(`${queryOf({})}&state=&edge_id_token=`)).toMatchObject({
    state: undefined,
    node: undefined,
  })
})

it('a code is bound to no key if the project accepts no proofs', async () => {
  project = { ...project, dpop: 'off' }
  expect(await read(queryOf({ dpop_jkt: jkt }))).toMatchObject({ jkt: '' })
})

describe('the audience', () => {
  it.each<[string, Fields, string | string[]]>([
    ['of this service as a resource', { resource: issuer }, issuer],
    ['of a resource of the project', { resource }, [issuer, resource]],
    ['of a resource with a device', { resource, edge_id_token: edgeToken() }, [edgeAudience, resource]],
    ['of the edge with a device', { resource: edgeAudience, edge_id_token: edgeToken() }, edgeAudience],
  ])('%s', async (_, fields, expected) => {
    expect((await read(queryOf(fields))).audience).toEqual(expected)
  })
})

describe('the person that an app expects', () => {
  it.each([
    ['of its ID token', hint()],
    ['of an ID token that has expired', hint({ iat: iat - 200, exp: iat - 100 })],
  ])('is the one %s', async (_, token) => {
    expect((await read(queryOf({ id_token_hint: token }))).expectedPersonId).toBe('ada')
  })
})

describe('a pushed request', () => {
  const query = `client_id=c&request_uri=${encodeURIComponent(pushedUri)}`

  it('has the parameters that were pushed', async () => {
    expect(await read(query)).toMatchObject({ requestUri: pushedUri, state: 'pushed', project })
  })

  it('has no parameters of the query', async () => {
    expect(await read(`${query}&state=other&scope=offline_access&nonce=n`)).toMatchObject({
      state: 'pushed',
      scope: 'openid',
      nonce: '',
    })
  })

  it('may have fields without a value', async () => {
    pushed += '&nonce='
    expect(await read(query)).toMatchObject({ nonce: '' })
  })
})

describe('the person sees an error, and the app gets no answer,', () => {
  it.each<[string, string, RegExp]>([
    ['without a client', queryOf({ client_id: undefined }), /^invalid_request: .*"client_id"/],
    ['for an unknown client', queryOf({ client_id: 'x' }), /^invalid_client: /],
    ['without a redirect URI', queryOf({ redirect_uri: undefined }), /^invalid_request: .*"redirect_uri"/],
    [
      'for another redirect URI',
      queryOf({ redirect_uri: `${redirectUri}/` }),
      /^invalid_request: the redirect_uri/,
    ],
    ['for a state that cannot be returned', queryOf({ state: 'é' }), /^invalid_request: "state"/],
    ['for a repeated field', `${queryOf({})}&client_id=c`, /^invalid_request: .*repeated/],
    [
      'for a URI of another server',
      'client_id=c&request_uri=https%3A%2F%2Fx.example',
      /^request_uri_not_supported: /,
    ],
    [
      'for a URI with the prefix inside',
      `client_id=c&request_uri=x${pushedUri}`,
      /^request_uri_not_supported: /,
    ],
    ['for an unknown pushed request', `client_id=c&request_uri=${pushedUri}x`, /^invalid_request_uri: /],
    [
      'for a pushed request of another client',
      `client_id=x&request_uri=${pushedUri}`,
      /^invalid_request_uri: /,
    ],
    ['for a pushed request without a client', `request_uri=${pushedUri}`, /^invalid_request: .*"client_id"/],
  ])('%s', async (_, query, expected) => {
    const { error, returnTo } = await refusalOf(query)
    expect(error).toMatch(expected)
    expect(returnTo).toBeUndefined()
  })

  it('for a project that is turned off', async () => {
    project = { ...project, active: false }
    expect(await refusalOf(queryOf({}))).toMatchObject({
      error: expect.stringMatching(/^invalid_client: /),
      returnTo: undefined,
    })
  })
})

describe('the app gets the error', () => {
  const otherKey = createTestIssuer(clock).privateKey
  const edge = (change: object): Fields => ({ edge_id_token: edgeToken(change) })
  it.each<[string, Fields, RegExp]>([
    ['of a parameter', { response_type: 'token' }, /^unsupported_response_type: /],
    ['of an unknown scope', { scope: 'x' }, /^invalid_scope: /],
    ['of a scope that the project may not have', { scope: 'edge:clusters' }, /^invalid_scope: /],
    ['of a scope for a device without one', { scope: 'openid edge:mcm' }, /^invalid_scope: .*"edge:mcm"/],
    ['of a resource that is not of the project', { resource: 'https://x.example' }, /^invalid_target: /],
    [
      'of the edge as a resource without a device',
      { resource: edgeAudience },
      /^invalid_target: .*"edge_id_token"/,
    ],
    [
      'of an edge ID token for another tenant',
      edge({ aud: 'https://x.example' }),
      /^invalid_request: .*not meant for/,
    ],
    [
      'of an edge ID token that has expired',
      edge({ iat: iat - 400, exp: iat - 300 }),
      /^invalid_request: .*ended/,
    ],
    ['of a node that is not known', edge({ node_id: 'b'.repeat(56) }), /^invalid_request: .*not known/],
    [
      'of a hint that another issuer signed',
      { id_token_hint: hint({}, otherKey) },
      /^invalid_request: .*signature/,
    ],
    [
      'of a hint for another app',
      { id_token_hint: hint({ aud: 'x' }) },
      /^invalid_request: .*not meant for c/,
    ],
  ])('%s', async (_, fields, expected) => {
    const { error, returnTo } = await refusalOf(queryOf({ state: 's', ...fields }))
    expect(error).toMatch(expected)
    expect(returnTo).toEqual({ redirectUri, state: 's' })
  })

  it.each<[string, () => void, RegExp]>([
    ['of a blocked node', () => (blockedAt = 1), /blocked$/],
    ['of an edge ID token that was revoked here', () => (revokedHere = 'lost'), /revoked: lost$/],
    [
      'of an edge ID token that its issuer revoked',
      () => (revokedThere = 'sold'),
      /edge ID token was revoked: sold$/,
    ],
  ])('%s', async (_, change, expected) => {
    change()
    const { error, returnTo } = await refusalOf(queryOf(edge({})))
    expect(error).toMatch(/^invalid_request: /)
    expect(error).toMatch(expected)
    expect(returnTo).toEqual({ redirectUri, state: undefined })
  })
})

it('a failure of the service is not an answer to the request', async () => {
  fails = true
  await expect(read(queryOf({}))).rejects.toThrow(/^the disk is full$/)
  await expect(read(queryOf({}))).rejects.not.toBeInstanceOf(RefusedRequest)
})
