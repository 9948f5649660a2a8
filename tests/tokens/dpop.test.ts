/** Tokens that are bound to a key (RFC 9449), on the token endpoint and on the device. */
import { createAccessTokenVerifier } from '@selvedge/client/backend'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enterByLink, projectWith } from '../harness/console.ts'
import { adminOf, type Developer, runtimeOf } from '../harness/flow.ts'
import { createProofKey, post, postProven } from '../harness/oauth.ts'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
let developer: Developer
let token: string
const key = createProofKey()
const scope = 'openid edge:mcm edge:account:associate'

beforeAll(async () => {
  services = await startServices()
  developer = services.developer
  token = (await exchange({}, true)).body.access_token!
})
afterAll(() => services.stop())

async function exchange(more: Record<string, string> = {}, isProven = false) {
  const form = {
    grant_type: 'id_token_signin',
    client_id: developer.clientId,
    id_token: developer.idToken,
    edge_id_token: (await runtimeOf(services.stack).getEdgeIdToken()).id_token,
    scope,
    ...more,
  }
  const url = `${services.stack.identity.url}/token`
  return isProven ? postProven(url, form, key) : post(url, form)
}

describe('the policy of a project', () => {
  const withPolicy = async (dpop: string) => {
    const person = await enterByLink(services.stack.identity.url, await linkFor(), developer.email)
    const { clientId } = await person.api['project.create'](projectWith({ dpop }))
    const { idToken } = await person.api['token.create']({ clientId })
    return { client_id: clientId, id_token: idToken }
  }
  const linkFor = async () =>
    (await adminOf(services.stack.state)['account.link']({ email: developer.email })).link

  it('"required" gives nothing without a proof', async () => {
    const own = await withPolicy('required')
    expect((await exchange(own)).body.error).toBe('invalid_dpop_proof')
    expect((await exchange(own, true)).body.token_type).toBe('DPoP')
  })

  it('"off" gives bearer tokens, proof or not', async () => {
    expect((await exchange(await withPolicy('off'), true)).body.token_type).toBe('Bearer')
  })

  it('"optional" binds where a proof comes', async () => {
    expect((await exchange()).body.token_type).toBe('Bearer')
    expect((await exchange({}, true)).body.token_type).toBe('DPoP')
  })
})

describe('a proof at the token endpoint', () => {
  it('is valid once', async () => {
    const url = `${services.stack.identity.url}/token`
    const { headers } = await post(url, {}, { DPoP: key.prove({ htu: url }) })
    const nonce = headers.get('dpop-nonce')!
    const proof = key.prove({ htu: url, nonce })
    const form = {
      grant_type: 'id_token_signin',
      client_id: developer.clientId,
      id_token: developer.idToken,
      edge_id_token: (await runtimeOf(services.stack).getEdgeIdToken()).id_token,
      scope,
    }
    expect((await post(url, form, { DPoP: proof })).status).toBe(200)
    expect((await post(url, form, { DPoP: proof })).body.error).toBe('invalid_dpop_proof')
  })

  it.each([
    ['for another endpoint', { htu: 'http://127.0.0.1:1/token' }],
    ['for another method', { htm: 'GET' }],
    ['that has expired by its own "exp"', {}, { exp: 1 }],
  ])('%s is refused', async (_, change, ended: Record<string, number> = {}) => {
    const url = `${services.stack.identity.url}/token`
    const nonce = (await post(url, {}, { DPoP: key.prove({ htu: url }) })).headers.get('dpop-nonce')!
    const proof = key.prove({ htu: url, nonce, ...change }, ended)
    const { body } = await post(
      url,
      { grant_type: 'refresh_token', client_id: developer.clientId, refresh_token: 'x' },
      { DPoP: proof },
    )
    expect(body.error).toBe('invalid_dpop_proof')
  })
})

/** One call of the local API, with the headers that are given. */
async function call(body: object | object[], headers: Record<string, string>) {
  const response = await fetch(rpcUrl(), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  return { answer, nonce: response.headers.get('dpop-nonce') ?? undefined }
}
const rpcUrl = () => `${services.url()}/jsonrpc/v1`
const getImages = (edgeAccessToken: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'getImages',
  params: [edgeAccessToken],
})
const reasonOf = ({ answer }: { answer: { error?: { data: { reason: string } } } }) =>
  answer.error?.data.reason ?? 'accepted'
const nonceOf = async () =>
  (await call(getImages(token), { DPoP: key.prove({ htu: rpcUrl(), accessToken: token }) })).nonce!

describe('the local API', () => {
  it('accepts a bound token with a proof of its key, after it has sent a nonce', async () => {
    expect(reasonOf(await call(getImages(token), {}))).toBe('invalid_dpop_proof')
    const first = await call(getImages(token), { DPoP: key.prove({ htu: rpcUrl(), accessToken: token }) })
    expect(reasonOf(first)).toBe('use_dpop_nonce')
    const proof = key.prove({ htu: rpcUrl(), accessToken: token, nonce: first.nonce })
    expect(reasonOf(await call(getImages(token), { DPoP: proof }))).toBe('accepted')
    expect(reasonOf(await call(getImages(token), { DPoP: proof }))).toBe('invalid_dpop_proof')
  })

  it('takes one proof for all the calls of a batch', async () => {
    const proof = key.prove({ htu: rpcUrl(), accessToken: token, nonce: await nonceOf() })
    const { answer } = await call([getImages(token), getImages(token)], { DPoP: proof })
    expect(answer.map((each: object) => reasonOf({ answer: each }))).toEqual(['accepted', 'accepted'])
  })

  it.each([
    ['of another key', () => createProofKey(), {}],
    ['for another token', () => key, { accessToken: 'another' }],
    ['for another path', () => key, { htu: 'http://127.0.0.1:1/jsonrpc/v1' }],
  ])('refuses a proof %s', async (_, whose, change) => {
    const proof = whose().prove({ htu: rpcUrl(), accessToken: token, nonce: await nonceOf(), ...change })
    expect(reasonOf(await call(getImages(token), { DPoP: proof }))).toBe('invalid_dpop_proof')
  })

  it('refuses a proof that has expired by its own "exp"', async () => {
    const ended = { exp: Math.floor(Date.now() / 1000) - 1 }
    const proof = key.prove({ htu: rpcUrl(), accessToken: token, nonce: await nonceOf() }, ended)
    expect(reasonOf(await call(getImages(token), { DPoP: proof }))).toBe('invalid_dpop_proof')
  })

  it('asks no proof for a bearer token', async () => {
    expect(reasonOf(await call(getImages(services.token), {}))).toBe('accepted')
  })
})

describe('the REST API and the services', () => {
  it.each([
    ['REST', '/mcm/v1/images'],
    ['a service', ''],
  ])('%s takes a bound token with a proof alone', async (name, given) => {
    const path = name === 'REST' ? given : await deployed()
    const htu = services.url() + path
    const ask = (headers: Record<string, string>) => services.call(path, { token: null, headers })
    const bare = await ask({ Authorization: `Bearer ${token}` })
    expect(bare.status).toBe(401)
    const authorization = { Authorization: `DPoP ${token}` }
    const first = await ask({ ...authorization, DPoP: key.prove({ htm: 'GET', htu, accessToken: token }) })
    expect(first.headers['www-authenticate']).toBe('DPoP error="use_dpop_nonce"')
    const nonce = String(first.headers['dpop-nonce'])
    const proof = key.prove({ htm: 'GET', htu, accessToken: token, nonce })
    expect((await ask({ ...authorization, DPoP: proof })).status).toBe(200)
    expect((await ask({ ...authorization, DPoP: proof })).status).toBe(401)
    const prove = (claims?: object) =>
      key.prove({ htm: 'GET', htu, accessToken: token, nonce }, { ...claims })
    const asBearer = await ask({ Authorization: `Bearer ${token}`, DPoP: prove() })
    expect(asBearer).toMatchObject({ status: 401, text: expect.stringContaining('Authorization: DPoP') })
    expect((await ask({ ...authorization, DPoP: prove({ exp: 1 }) })).status).toBe(401)
    expect((await ask({ ...authorization, DPoP: prove() })).status).toBe(200)
  })

  it.each([
    ['REST', '/mcm/v1/images'],
    ['a service', ''],
  ])('%s refuses a token that is bound to no key under the scheme DPoP', async (name, given) => {
    const path = name === 'REST' ? given : await deployed()
    const ask = (scheme: string) =>
      services.call(path, { token: null, headers: { Authorization: `${scheme} ${services.token}` } })
    expect((await ask('DPoP')).status).toBe(401)
    expect((await ask('Bearer')).status).toBe(200)
  })

  async function deployed(): Promise<string> {
    const source = `mimikModule.exports = (context, request, response) => response.end('hello')`
    await services.deploy('greeter', source, { 'MCM.BASE_API_PATH': '/greeter' })
    return `/${developer.clientId}/greeter/`
  }
})

it('user info of a bound token needs a proof', async () => {
  const url = `${services.stack.identity.url}/userinfo`
  const ask = (headers: Record<string, string>) => fetch(url, { headers })
  expect((await ask({ Authorization: `Bearer ${token}` })).status).toBe(401)
  const first = await ask({
    Authorization: `DPoP ${token}`,
    DPoP: key.prove({ htm: 'GET', htu: url, accessToken: token }),
  })
  const nonce = first.headers.get('dpop-nonce')!
  const proof = key.prove({ htm: 'GET', htu: url, accessToken: token, nonce })
  expect((await ask({ Authorization: `DPoP ${token}`, DPoP: proof })).status).toBe(200)
  const another = key.prove({ htm: 'GET', htu: url, accessToken: token, nonce })
  expect((await ask({ Authorization: `Bearer ${token}`, DPoP: another })).status).toBe(401)
  expect((await ask({ Authorization: `DPoP ${services.token}`, DPoP: another })).status).toBe(401)
})

describe('a backend', () => {
  const backend = () => createAccessTokenVerifier({ issuer: services.stack.identity.url })
  const url = 'https://backend.example/readings?since=1'
  const prove = (change: object = {}) =>
    key.prove({ htm: 'GET', htu: 'https://backend.example/readings', accessToken: token, ...change })
  const reason = (call: Promise<unknown>) =>
    call.then(
      () => 'accepted',
      (cause) => `${cause.status} ${cause.reason}`,
    )

  it('takes a bound token with the request that it came with, once', async () => {
    const verifier = backend()
    const proof = prove()
    const ask = () => reason(verifier.verify(`DPoP ${token}`, { method: 'GET', url, proof }))
    expect(await ask()).toBe('accepted')
    expect(await ask()).toBe('401 invalid_dpop_proof')
    expect(await reason(verifier.verify(services.token))).toBe('accepted')
  })

  it.each([
    ['without the request', () => undefined],
    ['without a proof', () => ({ method: 'GET', url, proof: undefined })],
    ['with a proof that is none', () => ({ method: 'GET', url, proof: 'x.y.z' })],
    ['with a proof for another method', () => ({ method: 'POST', url, proof: prove() })],
    [
      'with a proof for another address',
      () => ({ method: 'GET', url: 'https://other.example/readings', proof: prove() }),
    ],
    [
      'with a proof for another token',
      () => ({ method: 'GET', url, proof: prove({ accessToken: 'another' }) }),
    ],
    [
      'with a proof of another key',
      () => ({
        method: 'GET',
        url,
        proof: createProofKey().prove({
          htm: 'GET',
          htu: 'https://backend.example/readings',
          accessToken: token,
        }),
      }),
    ],
  ])('refuses it %s', async (_, request) => {
    expect(await reason(backend().verify(token, request()))).toBe('401 invalid_dpop_proof')
  })
})
