/** Requests that begin a sign-in: of a terminal (RFC 8628), and of an app that pushes its request (RFC 9126). */
import { OAuthError } from '@selvedge/protocol'
import { createAddressSet } from '@selvedge/service-kit/address-set'
import { addFormRoutes } from '@selvedge/service-kit/http-app'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { projectOf } from '../../../../../tests/harness/grants.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { RefusedRequest } from '../../tokens/authorize/refused-request.ts'
import { addDeviceAuthorizationEndpoint } from './device-authorization.ts'
import { addPushedAuthorizationEndpoint } from './pushed-authorization.ts'

const issuer = 'https://identity.example'
let app: FastifyInstance
let project: Project
let created: object[]
let pushed: { form: string }[]
let proofs: object[]
let refusal: Error | undefined

beforeEach(() => {
  project = projectOf({ scopes: ['openid', 'edge:mcm'] })
  created = []
  pushed = []
  proofs = []
  refusal = undefined
  app = Fastify()
  app.setErrorHandler((cause: OAuthError & { status?: number }, _, reply) =>
    reply.code(cause.status ?? 400).send({ error: cause.code, error_description: cause.message }),
  )
  const parts = {
    ...{ issuer: () => issuer, consoleUrl: () => 'https://console.example' },
    trustedProxies: createAddressSet(['192.0.2.7']),
    projects: { find: async (id: string) => (id === 'c' ? project : undefined) },
    dpop: {
      nonce: () => 'nonce',
      async verify(proof: string, about: object) {
        proofs.push({ proof, ...about })
        return { jkt: 'thumbprint' }
      },
    },
    deviceRequests: {
      async create(request: object) {
        created.push(request)
        return { deviceCode: 'device', userCode: 'USER-CODE' }
      },
    },
    pushedRequests: {
      async push(request: { form: string }) {
        pushed.push(request)
        return 'urn:request'
      },
    },
    authorizations: {
      async read() {
        if (refusal) throw refusal
      },
    },
  } as never
  addFormRoutes(app, (routes) => {
    addDeviceAuthorizationEndpoint(routes, parts)
    addPushedAuthorizationEndpoint(routes, parts)
  })
})
afterEach(() => app.close())

async function post(url: string, form: string, headers: Record<string, string> = {}) {
  const response = await app.inject({
    ...{ method: 'POST', url, payload: form, remoteAddress: '192.0.2.7' },
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': '198.51.100.1',
      ...headers,
    },
  })
  return { status: response.statusCode, json: response.json(), nonce: response.headers['dpop-nonce'] }
}
const basic = `Basic ${Buffer.from('c:').toString('base64')}`

describe('the sign-in of a terminal', () => {
  const begin = (form = 'client_id=c&scope=openid', headers: Record<string, string> = {}) =>
    post('/device_authorization', form, headers)

  it('begins with codes, and the page on which a person approves it', async () => {
    expect(await begin(undefined, { 'user-agent': 'cli' })).toEqual({
      status: 200,
      nonce: undefined,
      json: {
        ...{
          device_code: 'device',
          user_code: 'USER-CODE',
          verification_uri: 'https://console.example/device',
        },
        verification_uri_complete: 'https://console.example/device?user_code=USER-CODE',
        ...{ expires_in: 600, interval: 5 },
      },
    })
    expect(created).toEqual([
      { clientId: 'c', scope: 'openid', jkt: '', address: '198.51.100.1', userAgent: 'cli' },
    ])
  })

  it('has the scope "openid" without another one, and names its client in any way', async () => {
    await begin('', { authorization: basic })
    expect(created).toMatchObject([{ clientId: 'c', scope: 'openid' }])
  })

  it('stores no more than 200 characters of what a client calls itself', async () => {
    await begin(undefined, { 'user-agent': 'x'.repeat(201) })
    await begin(undefined, { 'user-agent': '' })
    expect(created).toMatchObject([{ userAgent: 'x'.repeat(200) }, { userAgent: '' }])
  })

  it('is bound to the key of a proof, unless the project uses no proofs', async () => {
    expect((await begin(undefined, { dpop: 'p' })).nonce).toBe('nonce')
    expect(proofs).toEqual([{ proof: 'p', htm: 'POST', htu: `${issuer}/device_authorization` }])
    project = projectOf({ dpop: 'off' })
    expect((await begin(undefined, { dpop: 'p' })).nonce).toBeUndefined()
    expect(created).toMatchObject([{ jkt: 'thumbprint' }, { jkt: '' }])
  })

  it.each([
    ['no client', '', 'invalid_request'],
    ['an unknown client', 'client_id=x', 'invalid_client'],
    ['a scope that the project does not have', 'client_id=c&scope=edge:clusters', 'invalid_scope'],
  ])('is refused with %s', async (_, form, error) => {
    expect((await begin(form)).json.error).toBe(error)
    expect(created).toEqual([])
  })

  it('is refused for a project that is turned off', async () => {
    project = projectOf({ active: false })
    expect((await begin()).status).not.toBe(200)
    expect(created).toEqual([])
  })
})

describe('a pushed request', () => {
  const push = (form = 'client_id=c&state=s', headers: Record<string, string> = {}) =>
    post('/par', form, headers)

  it('is stored for its client, and gets a name', async () => {
    expect(await push()).toEqual({
      ...{ status: 201, nonce: undefined },
      json: { request_uri: 'urn:request', expires_in: 300 },
    })
    expect(pushed).toEqual([{ clientId: 'c', form: 'client_id=c&state=s', address: '198.51.100.1' }])
    await push('state=s', { authorization: basic })
    expect(Object.fromEntries(new URLSearchParams(pushed[1]!.form))).toEqual({ client_id: 'c', state: 's' })
  })

  it('is bound to the key of a proof, which may be named', async () => {
    expect((await push(undefined, { dpop: 'p' })).nonce).toBe('nonce')
    expect(proofs).toEqual([{ proof: 'p', htm: 'POST', htu: `${issuer}/par` }])
    await push('client_id=c&dpop_jkt=thumbprint', { dpop: 'p' })
    for (const { form } of pushed) expect(new URLSearchParams(form).get('dpop_jkt')).toBe('thumbprint')
    expect(await push('client_id=c&dpop_jkt=other', { dpop: 'p' })).toMatchObject({
      status: 400,
      nonce: 'nonce',
      json: {
        error: 'invalid_request',
        error_description: '"dpop_jkt" is not the thumbprint of the key of the proof',
      },
    })
    await push('client_id=c&dpop_jkt=other')
    expect(new URLSearchParams(pushed[2]!.form).get('dpop_jkt')).toBe('other')
    project = projectOf({ dpop: 'off' })
    expect((await push(undefined, { dpop: 'p' })).nonce).toBeUndefined()
    expect(new URLSearchParams(pushed[3]!.form).has('dpop_jkt')).toBe(false)
  })

  it.each([
    ['another name of a request', 'client_id=c&request_uri=x', 'invalid_request'],
    ['no client', 'state=s', 'invalid_request'],
    ['an unknown client', 'client_id=x', 'invalid_client'],
  ])('is refused with %s', async (_, form, error) => {
    expect((await push(form)).json.error).toBe(error)
    expect(pushed).toEqual([])
  })

  it('has at most 12,000 characters', async () => {
    const of = (length: number) => `client_id=c&state=${'s'.repeat(length - 'client_id=c&state='.length)}`
    expect((await push(of(12_000))).status).toBe(201)
    expect((await push(of(12_001))).json).toEqual({
      ...{ error: 'invalid_request', error_description: 'the request has more than 12000 characters' },
    })
  })

  it('that the authorization endpoint would refuse is refused and not stored', async () => {
    refusal = new OAuthError('invalid_scope', 'no such scope')
    expect((await push()).json).toEqual({ error: 'invalid_scope', error_description: 'no such scope' })
    const own = new OAuthError('invalid_request', 'no state')
    refusal = Object.assign(Object.create(RefusedRequest.prototype), { error: own })
    expect((await push()).json).toEqual({ error: 'invalid_request', error_description: 'no state' })
    expect(pushed).toEqual([])
  })

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'] as const)('is not sent with %s', async (method) => {
    const response = await app.inject({ method, url: '/par' })
    expect([response.statusCode, response.headers.allow, response.json().error]).toEqual([
      405,
      'POST',
      'invalid_request',
    ])
  })
})
