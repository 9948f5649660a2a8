/** What the client of the identity service sends: to which path, with which form, proof and token, and nothing else. */
import { beforeEach, describe, expect, it } from 'vitest'
import { createIdentityClient } from './identity.ts'
import { createNonceSource, exchangeLease } from './local-token.ts'
import { createProofKey } from './proof-key.ts'
import type { Fetch } from './send.ts'

const url = 'https://identity.example'
const key = await createProofKey()
const token = { access_token: 'access', token_type: 'Bearer', expires_in: 60, scope: 'openid' }

interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}
interface Answer {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

let sent: Sent[]
let answers: Answer[]
beforeEach(() => {
  sent = []
  answers = []
})
/** Gives the next answer; the last one repeats. */
const fetch = (async (target, { method, headers, body }) => {
  sent.push({ url: target, method, headers, body })
  const {
    status = 200,
    body: answer = '',
    headers: own = {},
  } = answers.length > 1 ? answers.shift()! : answers[0]!
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  return new Response(status === 304 ? null : text, { status, headers: own })
}) as Fetch
const client = createIdentityClient({ url, fetch })

const form = () => Object.fromEntries(new URLSearchParams(sent.at(-1)!.body))
const claimsOf = ({ headers }: Sent): Record<string, unknown> =>
  JSON.parse(Buffer.from(headers.DPoP!.split('.')[1]!, 'base64url').toString())
const needsNonce: Answer = { status: 400, body: { error: 'use_dpop_nonce' }, headers: { 'DPoP-Nonce': 'n1' } }

describe('a request for a token', () => {
  const input = { clientId: 'c', developerIdToken: 'developer', edgeIdToken: 'edge', scope: 'openid' }
  beforeEach(() => {
    answers = [{ body: token }]
  })

  it('has the form of the grant of this API family', async () => {
    expect(await client.exchange(input)).toEqual(token)
    expect(sent[0]).toMatchObject({
      url: `${url}/token`,
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    })
    expect(sent[0]!.headers).not.toHaveProperty('DPoP')
    const own = { client_id: 'c', scope: 'openid', id_token: 'developer', edge_id_token: 'edge' }
    expect(form()).toEqual({ ...own, grant_type: 'id_token_signin' })
    await client.exchange({ ...input, grant: 'id_token_signin', resource: 'urn:x' })
    expect(form()).toEqual({ ...own, grant_type: 'id_token_signin', resource: 'urn:x' })
  })

  it('has the form of RFC 8693, if that is wanted', async () => {
    await client.exchange({ ...input, grant: 'token-exchange' })
    const type = 'urn:ietf:params:oauth:token-type:id_token'
    expect(form()).toEqual({
      ...{ client_id: 'c', scope: 'openid', subject_token: 'developer', actor_token: 'edge' },
      ...{ grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' },
      ...{ subject_token_type: type, actor_token_type: type },
    })
  })

  it('refreshes with the refresh token, and with a scope only if one is named', async () => {
    await client.refresh({ clientId: 'c', refreshToken: 'r' })
    expect(form()).toEqual({ grant_type: 'refresh_token', client_id: 'c', refresh_token: 'r' })
    await client.refresh({ clientId: 'c', refreshToken: 'r', scope: '' })
    expect(form()).toMatchObject({ scope: '' })
  })

  it('redeems the code of a device', async () => {
    await client.redeemDevice({ clientId: 'c', deviceCode: 'd' })
    expect(form()).toEqual({
      ...{ grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: 'c', device_code: 'd' },
    })
  })

  it('with a key has a proof for the token endpoint, and repeats it once with the nonce of the service', async () => {
    answers = [needsNonce, { body: token }]
    const own = createIdentityClient({ url, fetch })
    expect(await own.exchange({ ...input, key })).toEqual(token)
    expect(sent).toHaveLength(2)
    for (const each of sent) {
      expect(claimsOf(each)).toMatchObject({ htm: 'POST', htu: `${url}/token` })
      expect(claimsOf(each)).not.toHaveProperty('ath')
      expect(each.headers['Content-Type']).toBe('application/x-www-form-urlencoded')
      expect(Object.fromEntries(new URLSearchParams(each.body))).toMatchObject({ id_token: 'developer' })
    }
    expect(sent.map((each) => claimsOf(each).nonce)).toEqual([undefined, 'n1'])
    expect(claimsOf(sent[0]!).jti).not.toBe(claimsOf(sent[1]!).jti)
    // The nonce serves the next request, of any kind.
    await own.refresh({ clientId: 'c', refreshToken: 'r', key })
    expect(claimsOf(sent[2]!).nonce).toBe('n1')
  })

  it('fails with the refusal of the service, or if the answer is no token', async () => {
    answers = [{ status: 400, body: { error: 'invalid_grant', error_description: 'it has expired' } }]
    await expect(client.exchange(input)).rejects.toMatchObject({
      kind: 'oauth',
      reason: 'invalid_grant',
      status: 400,
    })
    await expect(client.exchange({ ...input, key })).rejects.toMatchObject({ reason: 'invalid_grant' })
    answers = [{ body: { ...token, access_token: 7 } }]
    for (const wrong of [input, { ...input, key }])
      await expect(client.exchange(wrong)).rejects.toMatchObject({
        reason: 'bad_answer',
        message: `${url} sent a response with an unexpected shape`,
      })
  })
})

it('a sign-in of a terminal begins with client and scope', async () => {
  const body = {
    ...{ device_code: 'd', user_code: 'u', verification_uri: 'v', verification_uri_complete: 'w' },
    ...{ expires_in: 600, interval: 5 },
  }
  answers = [{ body }]
  expect(await client.authorizeDevice({ clientId: 'c', scope: 'openid' })).toEqual(body)
  expect([sent[0]!.url, form()]).toEqual([`${url}/device_authorization`, { client_id: 'c', scope: 'openid' }])
  answers = [{ body: {} }]
  await expect(client.authorizeDevice({ clientId: 'c', scope: '' })).rejects.toMatchObject({
    reason: 'bad_answer',
  })
})

it('a revocation names client and token', async () => {
  answers = [{}]
  expect(await client.revoke({ clientId: 'c', token: 't' })).toBeUndefined()
  expect([sent[0]!.url, form()]).toEqual([`${url}/revoke`, { client_id: 'c', token: 't' }])
  answers = [{ status: 503, body: { error: 'temporarily_unavailable' } }]
  await expect(client.revoke({ clientId: 'c', token: 't' })).rejects.toMatchObject({
    reason: 'temporarily_unavailable',
  })
})

describe('the list of revoked tokens', () => {
  it('is requested from a state, from an ETag, or as a whole', async () => {
    answers = [{ body: 'a.b.c', headers: { 'content-type': 'application/jwt', etag: '"7"' } }]
    expect(await client.revocations()).toEqual({ token: 'a.b.c', etag: '"7"' })
    await client.revocations({ seq: 3, mark: 'a/b' })
    await client.revocations('"6"')
    expect(sent.map(({ url: target, method, headers }) => [target, method, headers])).toEqual([
      [`${url}/revocations`, 'GET', {}],
      [`${url}/revocations?since=3&mark=a%2Fb`, 'GET', {}],
      [`${url}/revocations`, 'GET', { 'If-None-Match': '"6"' }],
    ])
  })

  it('may be unchanged, may have no ETag, and may be refused', async () => {
    answers = [{ status: 304 }]
    expect(await client.revocations('"7"')).toBe('unchanged')
    answers = [{ body: 'a.b.c', headers: { 'content-type': 'application/jwt' } }]
    expect(await client.revocations()).toEqual({ token: 'a.b.c', etag: '' })
    answers = [{ status: 500, body: {} }]
    await expect(client.revocations()).rejects.toMatchObject({ reason: 'refused' })
  })
})

describe('a request of a node', () => {
  const proofs: (string | undefined)[] = []
  const prove = (nonce: string | undefined) => `proof ${proofs.push(nonce)}`
  beforeEach(() => {
    proofs.length = 0
  })

  it('for an edge ID token has a proof and no body', async () => {
    const { x, y, crv, kty } = key.jwk
    const body = { id_token: 'i', expires_in: 60, account_id: '', time: 1, hmac_key: { kty, crv, x, y } }
    answers = [needsNonce, { body }]
    const own = createIdentityClient({ url, fetch })
    expect(await own.edgeToken(prove)).toEqual(body)
    expect(
      sent.map(({ url: target, method, headers, body: text }) => [target, method, headers, text]),
    ).toEqual([
      [`${url}/edge/token`, 'POST', { DPoP: 'proof 1' }, undefined],
      [`${url}/edge/token`, 'POST', { DPoP: 'proof 2' }, undefined],
    ])
    expect(proofs).toEqual([undefined, 'n1'])
    answers = [{ body: { ...body, hmac_key: { ...body.hmac_key, crv: 'P-384' } } }]
    await expect(own.edgeToken(prove)).rejects.toMatchObject({ reason: 'bad_answer' })
    answers = [{ status: 403, body: { error: 'access_denied' } }]
    await expect(own.edgeToken(prove)).rejects.toMatchObject({ reason: 'access_denied' })
  })

  it('about an HMAC code has the token of the node and a proof', async () => {
    const code = { edgeHmacCode: 'v1', nodeId: 'n', uri: '/x' }
    answers = [{ body: { valid: false, reason: 'expired' } }]
    expect(await client.verifyHmac(code, 'edge', prove)).toEqual({ valid: false, reason: 'expired' })
    expect(sent[0]).toEqual({
      ...{ url: `${url}/edge/hmac/verify`, method: 'POST', body: JSON.stringify(code) },
      headers: { 'Content-Type': 'application/json', Authorization: 'DPoP edge', DPoP: 'proof 1' },
    })
    answers = [{ body: { valid: 'yes' } }]
    await expect(client.verifyHmac(code, 'edge', prove)).rejects.toMatchObject({ reason: 'bad_answer' })
    answers = [{ status: 401, body: { error: 'invalid_token' } }]
    await expect(client.verifyHmac(code, 'edge', prove)).rejects.toMatchObject({ reason: 'invalid_token' })
  })
})

it('a document is read as it is, and a refusal is an error', async () => {
  answers = [{ body: { keys: [] } }]
  expect(await client.getJson('/jwks')).toEqual({ keys: [] })
  expect([sent[0]!.url, sent[0]!.method]).toEqual([`${url}/jwks`, 'GET'])
  answers = [{ status: 404, body: {} }]
  await expect(client.getJson('/x')).rejects.toMatchObject({ message: `${url} answered HTTP 404` })
})

describe('the exchange of a lease', () => {
  const runtime = { url: 'http://device.example:8083', fetch }
  const exchange = (tokenEndpoint = 'http://127.0.0.1:8083/token') =>
    exchangeLease(runtime, { lease: 'the lease', key, tokenEndpoint })

  it('is sent to the runtime, with a proof for the address that the runtime names', async () => {
    answers = [needsNonce, { body: token }]
    expect(await exchange()).toEqual(token)
    expect(sent.map(({ url: target, method }) => `${method} ${target}`)).toEqual([
      'POST http://device.example:8083/token',
      'POST http://device.example:8083/token',
    ])
    expect(sent[1]!.headers['Content-Type']).toBe('application/x-www-form-urlencoded')
    expect(claimsOf(sent[1]!)).toMatchObject({ htm: 'POST', htu: 'http://127.0.0.1:8083/token', nonce: 'n1' })
    expect(form()).toEqual({
      ...{ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'the lease' },
    })
  })

  it('fails with the refusal of the runtime, or if the answer is no token', async () => {
    answers = [{ status: 400, body: { error: 'invalid_grant' } }]
    await expect(exchange()).rejects.toMatchObject({ reason: 'invalid_grant' })
    answers = [{ body: {} }]
    await expect(exchange()).rejects.toMatchObject({ reason: 'bad_answer' })
  })

  it.each(['http://127.0.0.1/token', 'https://localhost:8083/token', 'http://[::1]:65535/token'])(
    'makes a proof for %s',
    async (endpoint) => {
      answers = [{ body: token }]
      await exchange(endpoint)
      expect(claimsOf(sent[0]!).htu).toBe(endpoint)
    },
  )

  it.each([
    'http://identity.example/token',
    'http://127.0.0.1:8083/token2',
    'http://127.0.0.1:8083/x/token',
    'http://127.0.0.1:808300/token',
    'http://127.0.0.1:/token',
    'ftp://127.0.0.1/token',
    'xhttp://127.0.0.1/token',
    'http://127.0.0.1.evil.example/token',
    'http://127x0.0.1/token',
    'http://127.0x0.1/token',
    'http://127.0.0x1/token',
    'http://localhost@evil.example/token',
  ])('makes no proof for %s', async (endpoint) => {
    await expect(exchange(endpoint)).rejects.toMatchObject({
      reason: 'bad_answer',
      message: `the runtime names ${JSON.stringify(endpoint)} as its token endpoint, which is not its own`,
    })
    expect(sent).toEqual([])
  })

  it('shows no more than 200 characters of an address that it refuses, and accepts no other value', async () => {
    await expect(exchange(`http://x/${'a'.repeat(300)}`)).rejects.toThrow(`"http://x/${'a'.repeat(191)}"`)
    await expect(exchange(null as never)).rejects.toMatchObject({ reason: 'bad_answer' })
    await expect(exchange(7 as never)).rejects.toMatchObject({ reason: 'bad_answer' })
  })
})

it('a nonce of a runtime comes from an empty request, and serves for a minute', async () => {
  const clock = performance.now.bind(performance)
  let passed = 0
  performance.now = () => clock() + passed
  try {
    answers = [
      { status: 415, headers: { 'DPoP-Nonce': 'one' } },
      { status: 415, headers: { 'DPoP-Nonce': 'two' } },
      { status: 415 },
    ]
    const nonce = createNonceSource({ url, fetch })
    expect([await nonce(), await nonce()]).toEqual(['one', 'one'])
    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatchObject({ url: `${url}/token`, method: 'POST', body: undefined })
    passed = 59_000
    expect(await nonce()).toBe('one')
    passed = 60_000
    expect(await nonce()).toBe('two')
    passed = 120_001
    expect(await nonce()).toBeUndefined()
  } finally {
    performance.now = clock
  }
})
