/** How this service authenticates at the token endpoint of a company, and which providers it connects to at all. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createFakeClock } from '@selvedge/service-kit/testing'
import * as openid from 'openid-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import type { Company } from '../../registry/people/companies.ts'
import { createCompanyClient } from './client.ts'

const clock = createFakeClock()
let server: Server
let url: string
let seen: { authorization: string | undefined; form: Record<string, string> }[]
/** Further members of the answer. */
let more: object
let signed: { typ: string; claims: Record<string, unknown> }[]

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const { authorization } = request.headers
    seen.push({ authorization, form: Object.fromEntries(new URLSearchParams(text)) })
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ access_token: 'x', token_type: 'bearer', ...more }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  seen = []
  signed = []
  more = {}
})

async function open(more: Partial<Company> = {}, metadata: object = {}) {
  const company = {
    ...{ companyId: 'id', clientId: 'client', clientAuth: 'none', issuer: url, allowsPrivate: true, ...more },
  } as Company
  return createCompanyClient({
    clock,
    network: directNetwork,
    keys: {
      sign(typ, claims) {
        signed.push({ typ, claims: claims as Record<string, unknown> })
        return 'assertion'
      },
    },
    companies: { secretOf: async (id) => (id === 'id' ? 'secret words' : '') },
    readMetadata: async ({ issuer }) =>
      Object.freeze({
        ...{ issuer, authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` },
        ...{ jwks_uri: `${url}/jwks`, ...metadata },
      }) as never,
  })(company)
}
async function request(more: Partial<Company> = {}, metadata: object = {}) {
  const { config } = await open(more, metadata)
  await openid.genericGrantRequest(config, 'test', {})
  return seen.at(-1)!
}

describe('a client of a company', () => {
  it('without a secret names itself in the form', async () => {
    expect(await request()).toEqual({
      authorization: undefined,
      form: { grant_type: 'test', client_id: 'client' },
    })
  })

  const basic = `Basic ${Buffer.from('client:secret+words').toString('base64')}`

  it.each([
    ['that states nothing', {}],
    [
      'that supports it',
      { token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'] },
    ],
    ['that states no list', { token_endpoint_auth_methods_supported: 'client_secret_post' }],
  ])('with a secret uses Basic at a provider %s', async (_, metadata) => {
    const { authorization, form } = await request({ clientAuth: 'client_secret' }, metadata)
    expect([authorization, form]).toEqual([basic, { grant_type: 'test' }])
  })

  it('with a secret uses the form at a provider without Basic', async () => {
    const metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
    const { authorization, form } = await request({ clientAuth: 'client_secret' }, metadata)
    expect(authorization).toBeUndefined()
    expect(form).toEqual({ grant_type: 'test', client_id: 'client', client_secret: 'secret words' })
  })

  it('with a key signs an assertion of its own type for this provider, for a minute', async () => {
    const { authorization, form } = await request({ clientAuth: 'private_key_jwt' })
    expect(authorization).toBeUndefined()
    expect(form).toEqual({
      ...{ grant_type: 'test', client_id: 'client', client_assertion: 'assertion' },
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
    const iat = clock.now() / 1000
    expect(signed).toEqual([
      {
        typ: 'client-authentication+jwt',
        claims: { iss: 'client', sub: 'client', aud: url, jti: expect.any(String), iat, exp: iat + 60 },
      },
    ])
    await request({ clientAuth: 'private_key_jwt' })
    expect(signed[1]!.claims.jti).not.toBe(signed[0]!.claims.jti)
  })
})

it('an ID token has its times by the clock of this service, and a minute more', async () => {
  const { config } = await open()
  const now = Math.floor(clock.now() / 1000)
  const encode = (json: object) => Buffer.from(JSON.stringify(json)).toString('base64url')
  const answer = (claims: object) => {
    const token = { iss: url, sub: 's', aud: 'client', iat: now - 600, exp: now + 600, ...claims }
    more = { id_token: `${encode({ alg: 'RS256' })}.${encode(token)}.${encode({})}` }
    return openid.genericGrantRequest(config, 'test', {})
  }
  for (const claims of [{}, { exp: now - 30 }, { nbf: now + 30 }])
    expect((await answer(claims)).claims()).toMatchObject({ sub: 's' })
  for (const claims of [{ exp: now - 120 }, { nbf: now + 120 }])
    await expect(answer(claims)).rejects.toThrow()
})

it('a request lasts ten seconds at most', async () => {
  const { config } = await open()
  expect(config.timeout).toBe(10)
  expect(config.serverMetadata().issuer).toBe(url)
})

it('a provider in a private network is reached only if the company allows that', async () => {
  const { config } = await open({ allowsPrivate: false })
  await expect(openid.genericGrantRequest(config, 'test', {})).rejects.toMatchObject({
    code: 'OAUTH_HTTP_REQUEST_FORBIDDEN',
  })
  openid.allowInsecureRequests(config)
  await expect(openid.genericGrantRequest(config, 'test', {})).rejects.toThrow()
  expect(seen).toEqual([])
})
