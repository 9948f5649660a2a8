/** Public documents: the metadata of each role, the keys, and the list of revoked tokens. */
import { grantTypes, type OAuthError } from '@selvedge/protocol'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addMetadataEndpoints } from './metadata.ts'
import { addRevocationsEndpoint } from './revocations.ts'

const url = 'https://identity.example'
let app: FastifyInstance
beforeEach(() => {
  app = Fastify()
  app.setErrorHandler((cause: OAuthError, _, reply) =>
    reply.code(400).send({ error: cause.code, error_description: cause.message }),
  )
})
afterEach(() => app.close())

describe('the metadata', () => {
  const add = (cloud: boolean, tenant: boolean) =>
    addMetadataEndpoints(app, {
      ...{ issuer: () => url, consoleUrl: () => 'https://console.example', roles: { cloud, tenant } },
      keys: { jwks: '{"keys":[]}' } as never,
    })
  const paths = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']

  it.each(paths)('of a tenant at %s has the endpoints of clients and apps', async (path) => {
    add(false, true)
    const response = await app.inject(path)
    expect(response.headers['cache-control']).toBe('public, max-age=300')
    const document = response.json()
    expect(document).toMatchObject({
      ...{
        issuer: url,
        jwks_uri: `${url}/jwks`,
        token_endpoint: `${url}/token`,
        revocation_endpoint: `${url}/revoke`,
      },
      ...{
        device_authorization_endpoint: `${url}/device_authorization`,
        introspection_endpoint: `${url}/introspect`,
      },
      ...{ userinfo_endpoint: `${url}/userinfo`, revocations_uri: `${url}/revocations` },
      grant_types_supported: Object.values(grantTypes),
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      introspection_endpoint_auth_methods_supported: ['none'],
      scopes_supported: expect.arrayContaining(['openid', 'edge:mcm', 'offline_access']),
      authorization_endpoint: expect.stringMatching(/^https:\/\/console\.example\/\w+/),
      end_session_endpoint: expect.stringMatching(/^https:\/\/console\.example\/\w+/),
      pushed_authorization_request_endpoint: `${url}/par`,
      ...{
        require_pushed_authorization_requests: false,
        authorization_response_iss_parameter_supported: true,
      },
      ...{ response_types_supported: ['code'], response_modes_supported: ['query'] },
      ...{ code_challenge_methods_supported: ['S256'], claim_types_supported: ['normal'] },
      ...{
        claims_parameter_supported: false,
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
      },
      claims_supported: [
        'iss',
        'sub',
        'aud',
        'iat',
        'exp',
        'auth_time',
        'nonce',
        'sid',
        'account_id',
        'email',
      ],
      prompt_values_supported: expect.arrayContaining(['none', 'login']),
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
      dpop_signing_alg_values_supported: ['ES256'],
    })
    expect(JSON.stringify(document)).not.toContain('/edge/token')
  })

  it('of a cloud has no endpoint of clients', async () => {
    add(true, false)
    const document = (await app.inject(paths[0]!)).json()
    expect(document).toMatchObject({
      ...{ issuer: url, response_types_supported: [], id_token_signing_alg_values_supported: ['ES256'] },
      ...{ token_endpoint: `${url}/edge/token`, edge_token_endpoint: `${url}/edge/token` },
    })
    for (const name of ['grant_types_supported', 'authorization_endpoint', 'userinfo_endpoint'])
      expect(document).not.toHaveProperty(name)
  })

  it('of both roles has all of them, and its keys are a key set', async () => {
    add(true, true)
    const document = (await app.inject(paths[0]!)).json()
    expect(Object.values(document)).toEqual(expect.arrayContaining([`${url}/edge/token`, `${url}/token`]))
    const keys = await app.inject('/jwks')
    expect([keys.headers['content-type'], keys.headers['cache-control'], keys.body]).toEqual([
      'application/jwk-set+json; charset=utf-8',
      'public, max-age=300',
      '{"keys":[]}',
    ])
  })
})

describe('the list of revoked tokens', () => {
  let asked: unknown[]
  let isUnchanged: boolean
  beforeEach(() => {
    asked = []
    isUnchanged = false
    addRevocationsEndpoint(app, {
      answer: async (since: unknown) => {
        asked.push(since)
        return isUnchanged ? 'unchanged' : { token: 'a.b.c', etag: '"7"' }
      },
    } as never)
  })

  it('is whole, or what changed since a state', async () => {
    const whole = await app.inject('/revocations')
    expect([whole.statusCode, whole.body, whole.headers['content-type']]).toEqual([
      200,
      'a.b.c',
      'application/jwt',
    ])
    expect([whole.headers.etag, whole.headers['cache-control']]).toEqual(['"7"', 'no-cache'])
    await app.inject('/revocations?since=123&mark=m')
    await app.inject('/revocations?mark=m')
    await app.inject('/revocations?since=999999999999999&mark=')
    expect(asked).toEqual([
      undefined,
      { seq: 123, mark: 'm' },
      undefined,
      { seq: 999_999_999_999_999, mark: '' },
    ])
  })

  it('that a client has is not sent again', async () => {
    const get = (etag: string) => app.inject({ url: '/revocations', headers: { 'if-none-match': etag } })
    const same = await get('"7"')
    expect([same.statusCode, same.body, same.headers.etag]).toEqual([304, '', '"7"'])
    expect((await get('"6"')).statusCode).toBe(200)
    isUnchanged = true
    const unchanged = await app.inject('/revocations?since=1&mark=m')
    expect([unchanged.statusCode, unchanged.body, unchanged.headers['cache-control']]).toEqual([
      304,
      '',
      'no-cache',
    ])
  })

  it.each([
    'since=x&mark=m',
    'since=1',
    'since=-1&mark=m',
    'since=1.5&mark=m',
    'since=&mark=m',
    'since=1x&mark=m',
    'since=1234567890123456&mark=m',
    'since=1&since=2&mark=m',
    'since=1&mark=m&mark=n',
  ])('is not sent for the state %s', async (query) => {
    const response = await app.inject(`/revocations?${query}`)
    expect([response.statusCode, response.json()]).toEqual([
      400,
      {
        error: 'invalid_request',
        error_description: '"since" is the claim "seq" of a list, and "mark" its claim "mark"',
      },
    ])
    expect(asked).toEqual([])
  })
})
