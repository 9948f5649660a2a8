/** The token endpoint: what is checked before a grant answers, and how a refusal is named. */
import { OAuthError } from '@selvedge/protocol'
import { TokenError } from '@selvedge/protocol/tokens'
import { beforeEach, describe, expect, it } from 'vitest'
import { projectOf } from '../../../../../tests/harness/grants.ts'
import type { Caller } from '../../tokens/grants/grant.ts'
import { createTokenEndpoint, verifyProof } from './token.ts'

let steps: string[]
let failure: unknown
let caller: Caller
let proofFailure: Error | undefined
beforeEach(() => {
  steps = []
  failure = undefined
  proofFailure = undefined
})

const dpop = {
  nonce: () => 'nonce',
  async verify(proof: string, { htm, htu }: { htm: string; htu: string }) {
    steps.push(`proof ${proof} ${htm} ${htu}`)
    if (proofFailure) throw proofFailure
    return { jkt: 'thumbprint' }
  },
} as never
const grant = (grantType: string, more: object = {}) => ({
  grantType,
  tokenError: 'invalid_grant' as const,
  ...more,
  async answer(form: ReadonlyMap<string, string>, by: Caller) {
    steps.push(`${grantType} ${[...form].map((each) => each.join('=')).join(' ')}`)
    caller = by
    if (failure) throw failure
    return { access_token: 'x' } as never
  },
})
const endpoint = createTokenEndpoint({
  ...{ dpop, issuer: () => 'https://identity.example', trustedProxies: 'proxies' as never },
  grants: [grant('one', { tokenFields: { JWT: 'the field "id_token"' } }), grant('two')],
  projects: {
    find: async (id: string) => (id === 'c' ? projectOf({ origins: ['https://app.example'] }) : undefined),
  } as never,
  limits: { takeAddress: (address: string) => void steps.push(`address ${address}`) } as never,
  changes: { epoch: () => 9, ensureFresh: async () => void steps.push('fresh') },
})
let headers: Record<string, string>
const send = (body: string, more: object = {}) => {
  headers = {}
  return endpoint.answer({
    ...{ body, authorization: undefined, dpop: undefined, address: '192.0.2.1', origin: undefined, headers },
    ...more,
  })
}

it('is for forms, at its path, with a nonce for proofs', () => {
  expect([endpoint.path, endpoint.takes, endpoint.nonce?.(), endpoint.trustedProxies]).toEqual([
    '/token',
    'form',
    'nonce',
    'proxies',
  ])
})

it('counts the address first, then reads changes, and calls the grant of the form', async () => {
  expect(await send('grant_type=two&client_id=c')).toEqual({ access_token: 'x' })
  expect(steps).toEqual(['address 192.0.2.1', 'fresh', 'two grant_type=two client_id=c'])
  expect(caller).toMatchObject({ address: '192.0.2.1', epoch: 9 })
})

it('finds the client in the Authorization header', async () => {
  await send('grant_type=one', { authorization: `Basic ${Buffer.from('c:').toString('base64')}` })
  expect(steps.at(-1)).toBe('one grant_type=one client_id=c')
})

it('refuses a form without a grant type, and an unknown one', async () => {
  await expect(send('client_id=c')).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(send('grant_type=three')).rejects.toMatchObject({
    code: 'unsupported_grant_type',
    message: 'the grants of this service are one, two',
  })
})

it('lets a page read the answer from an origin of its project, also a refusal', async () => {
  await send('grant_type=one&client_id=c', { origin: 'https://app.example' })
  expect(headers).toMatchObject({ 'Access-Control-Allow-Origin': 'https://app.example', Vary: 'Origin' })
  await expect(send('grant_type=three&client_id=c', { origin: 'https://app.example' })).rejects.toThrow()
  expect(headers).toHaveProperty('Access-Control-Allow-Origin')
  await send('grant_type=one&client_id=c', { origin: 'https://evil.example' })
  expect(headers).toEqual({ Vary: 'Origin' })
  await send('grant_type=one', { origin: 'https://app.example' })
  expect(headers).toEqual({ Vary: 'Origin' })
  await send('grant_type=one&client_id=c')
  expect(headers).toEqual({})
})

describe('a proof', () => {
  it('is used as the project demands', async () => {
    await send('grant_type=one', { dpop: 'p' })
    expect(await caller.prove('off')).toBeUndefined()
    expect(steps.some((each) => each.startsWith('proof'))).toBe(false)
    for (const policy of ['optional', 'required'] as const)
      expect(await caller.prove(policy)).toBe('thumbprint')
    expect(steps.at(-1)).toBe('proof p POST https://identity.example/token')
  })

  it('may be absent, unless the project demands one', async () => {
    await send('grant_type=one')
    expect([await caller.prove('off'), await caller.prove('optional')]).toEqual([undefined, undefined])
    await expect(caller.prove('required')).rejects.toMatchObject({
      code: 'invalid_dpop_proof',
      message: 'the project requires tokens bound to a key: send a DPoP proof',
    })
  })

  it('that is refused has an OAuth error', async () => {
    proofFailure = new TokenError('invalid_dpop_proof' as never, 'no')
    await expect(verifyProof(dpop, 'p', 'https://identity.example/par')).rejects.toBeInstanceOf(OAuthError)
  })
})

describe('a refusal of a grant', () => {
  it('has its own code', async () => {
    failure = new OAuthError('invalid_scope', 'no such scope')
    await expect(send('grant_type=one')).rejects.toBe(failure)
  })

  it('of a token has the code of the grant', async () => {
    failure = new TokenError('token_expired', 'it expired')
    await expect(send('grant_type=one')).rejects.toMatchObject({ code: 'invalid_grant' })
  })

  it('of a token of another kind names the field of the grant that needs it, or the request', async () => {
    const wrong = (typ: string) =>
      new TokenError('token_malformed' as never, '', { found: 'an ID token', needed: 'a JWT', typ } as never)
    const description = async (type: string) =>
      send(`grant_type=${type}`).catch((cause: Error) => cause.message)
    failure = wrong('JWT')
    expect(await description('one')).toBe('this is an ID token; the field "id_token" needs a JWT')
    expect(await description('two')).toBe('this is an ID token; the request needs a JWT')
    failure = wrong('at+jwt')
    expect(await description('one')).toBe('this is an ID token; the request needs a JWT')
  })

  it('that is a defect stays one', async () => {
    failure = new TypeError('a defect')
    await expect(send('grant_type=one')).rejects.toBe(failure)
  })
})
