/** Each thing that a token needs, by itself: a token that lacks one of them, and has all others, is refused. */
import { generateKeyPairSync } from 'node:crypto'
import { RpcError, type TokenAccess } from '@selvedge/protocol'
import {
  type AccessClaims,
  accessProfile,
  edgeAudience,
  edgeIdProfile,
  publicJwk,
} from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { createDpopVerifier, createProof, createTokenVerifier, signJws } from '@selvedge/service-kit/tokens'
import { calculateJwkThumbprint } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { initialState, type StateStore } from '../state.ts'
import { createAuthorize, type NeededToken } from './authorize.ts'
import { createCheckProof, type ProvenRequest } from './proof.ts'

const pairOf = async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
  return { privateKey, publicKey, jwk, jkt: await calculateJwkThumbprint(jwk) }
}
const issuer = { url: 'https://identity.example', ...(await pairOf()) }
const holder = await pairOf()
const stranger = await pairOf()

const clock = createFakeClock()
const start = clock.now()
const nodeId = 'a'.repeat(56)
const account = 'account-1'
let state: { accountId: string; revokedUntil: Record<string, number> }
/** Why something was revoked, by the ID of a token or of an account. */
let reasons: Record<string, string>
/** What was looked up in the list of revoked tokens. */
let lookedUp: AccessClaims[]
let verified: number
/** Whether the key of the issuer is in memory; if not, it is fetched. */
let isKeyKnown: boolean
const dpop = createDpopVerifier(Buffer.alloc(32, 7), clock)
const parts = () => {
  const verifier = createTokenVerifier({
    issuers: () => [
      {
        issuer: issuer.url,
        findKey: () => (isKeyKnown ? issuer.publicKey : undefined),
        async refresh() {
          isKeyKnown = true
          return true
        },
      },
    ],
    clock,
    remembered: 0,
  })
  return createAuthorize({
    nodeId,
    clock,
    state: {
      get value() {
        return { ...initialState, ...state }
      },
    } as StateStore,
    verifier: {
      ...verifier,
      verify(...given) {
        verified++
        return verifier.verify(...given)
      },
    },
    revocations: {
      reasonFor(claims: AccessClaims) {
        lookedUp.push(claims)
        return reasons[claims.jti] ?? reasons[claims.account_id]
      },
    } as never,
    checkProof: createCheckProof(dpop, 'http'),
  })
}
let { authorize, expectStillValid, keepUnrevoked } = parts()
beforeEach(() => {
  clock.set(start)
  state = { accountId: account, revokedUntil: {} }
  reasons = {}
  lookedUp = []
  verified = 0
  isKeyKnown = true
  ;({ authorize, expectStillValid, keepUnrevoked } = parts())
})

const claimsWith = (more: Partial<AccessClaims> = {}): AccessClaims =>
  ({
    iss: issuer.url,
    sub: account,
    aud: edgeAudience,
    iat: seconds(clock),
    exp: seconds(clock) + 3600,
    jti: 'token-1',
    client_id: 'client-1',
    account_id: account,
    node_id: nodeId,
    scope: 'openid edge:mcm',
    auth_time: 0,
    ...more,
  }) as AccessClaims
const tokenWith = (more: Partial<AccessClaims> = {}) =>
  signJws({ typ: accessProfile.typ, kid: 'k' }, claimsWith(more), issuer.privateKey)

const associated: TokenAccess = { caller: 'token', token: 'associated' }
const ofNode: TokenAccess = { caller: 'token', token: 'node' }
const scoped: TokenAccess = { ...associated, scope: 'edge:mcm' }
const target = { host: '127.0.0.1:1', method: 'POST', path: '/jsonrpc/v1' }
const plain = (): ProvenRequest => ({ ...target, dpop: undefined })

async function reasonOf(token: string, access: NeededToken, request = plain()): Promise<string> {
  try {
    await authorize(token, access, request, 'a method')
    return 'accepted'
  } catch (cause) {
    if (cause instanceof RpcError) return cause.reason
    throw cause
  }
}
const validity = (claims: AccessClaims, access: NeededToken) => {
  try {
    expectStillValid(claims, access)
    return 'valid'
  } catch (cause) {
    if (cause instanceof RpcError) return cause.reason
    throw cause
  }
}

it('a token that lacks nothing is accepted, with its claims', async () => {
  const claims = await authorize(tokenWith(), scoped, plain(), 'a method')
  expect(claims).toEqual(claimsWith())
  expect(validity(claims, scoped)).toBe('valid')
})

describe('a token is refused', () => {
  it.each<[why: string, claims: () => Partial<AccessClaims>, reason: string]>([
    ['after its end', () => ({ iat: seconds(clock) - 7200, exp: seconds(clock) - 3600 }), 'token_expired'],
    ['of an issuer that is not trusted', () => ({ iss: 'https://other.example' }), 'token_untrusted'],
    ['for another audience', () => ({ aud: 'urn:example:other' }), 'token_untrusted'],
    ['for another node', () => ({ node_id: 'b'.repeat(56) }), 'wrong_node'],
    ['of another account', () => ({ account_id: 'account-2' }), 'wrong_account'],
    ['without the scope', () => ({ scope: 'openid' }), 'insufficient_scope'],
    ['with a longer scope in place of it', () => ({ scope: 'edge:mcm2 xedge:mcm' }), 'insufficient_scope'],
    ['that is bound to a key, without a proof', () => ({ cnf: { jkt: holder.jkt } }), 'invalid_dpop_proof'],
  ])('%s', async (_, claims, reason) => {
    expect(await reasonOf(tokenWith(claims()), scoped)).toBe(reason)
  })

  it('that is no token', async () => {
    expect(await reasonOf('', scoped)).toBe('token_missing')
    expect(await reasonOf('x', scoped)).toBe('token_malformed')
  })

  it('that was revoked', async () => {
    reasons = { 'token-1': 'it was revoked' }
    expect(await reasonOf(tokenWith(), ofNode)).toBe('token_revoked')
    expect(validity(claimsWith(), ofNode)).toBe('token_revoked')
  })

  it('of before its account was removed, also if the access does not need the account', async () => {
    state = { accountId: '', revokedUntil: { [account]: seconds(clock) } }
    expect(await reasonOf(tokenWith(), ofNode)).toBe('token_revoked')
    expect(validity(claimsWith(), ofNode)).toBe('token_revoked')
    state = { accountId: account, revokedUntil: { [account]: seconds(clock) - 1, 'account-2': 4e9 } }
    expect(await reasonOf(tokenWith(), scoped)).toBe('accepted')
    expect(validity(claimsWith(), scoped)).toBe('valid')
  })

  it('of any account, if the runtime has no account and the access needs one', async () => {
    state = { accountId: '', revokedUntil: {} }
    expect(await reasonOf(tokenWith(), associated)).toBe('not_associated')
    expect(validity(claimsWith(), associated)).toBe('not_associated')
    expect(await reasonOf(tokenWith(), ofNode)).toBe('accepted')
    expect(validity(claimsWith(), ofNode)).toBe('valid')
  })

  it('of another account only if the access needs the account', async () => {
    const other = { account_id: 'account-2' }
    expect(await reasonOf(tokenWith(other), ofNode)).toBe('accepted')
    expect(validity(claimsWith(other), ofNode)).toBe('valid')
    expect(validity(claimsWith(other), associated)).toBe('wrong_account')
  })

  it('for what lasts, once it has expired', () => {
    const claims = claimsWith()
    clock.advance(3600_000)
    expect(validity(claims, associated)).toBe('valid')
    clock.advance(120_000)
    expect(validity(claims, associated)).toBe('token_expired')
  })
})

describe('a token that is bound to a key', () => {
  const bound = () => tokenWith({ cnf: { jkt: holder.jkt } })
  const requestWith = (
    token: string,
    key: typeof holder,
    scheme: 'DPoP' | 'Bearer' | undefined = undefined,
    more: object = {},
  ): ProvenRequest => ({
    ...target,
    shown: scheme && { scheme, token },
    dpop: createProof({
      key: key.privateKey,
      jwk: key.jwk,
      htm: target.method,
      htu: `http://${target.host}${target.path}`,
      clock,
      nonce: dpop.nonce(),
      accessToken: token,
      ...more,
    }),
  })

  it('is accepted with a proof of that key, once', async () => {
    const token = bound()
    const request = requestWith(token, holder)
    expect(await reasonOf(token, scoped, request)).toBe('accepted')
    // All calls of one request have the same proof; another request needs another one.
    expect(await reasonOf(token, scoped, request)).toBe('accepted')
    expect(await reasonOf(token, scoped, { ...request })).toBe('invalid_dpop_proof')
  })

  it.each<[what: string, key: typeof holder, more: object]>([
    ['by another key', stranger, {}],
    ['for another token', holder, { accessToken: 'another' }],
    ['for another method', holder, { htm: 'GET' }],
    ['for another address', holder, { htu: 'http://127.0.0.1:1/mcm/v1/images' }],
    ['for another host', holder, { htu: 'http://192.0.2.1/jsonrpc/v1' }],
    ['under another scheme of the address', holder, { htu: `https://${target.host}${target.path}` }],
  ])('is refused with a proof %s', async (_, key, more) => {
    const token = bound()
    expect(await reasonOf(token, scoped, requestWith(token, key, undefined, more))).toBe('invalid_dpop_proof')
  })

  it('is refused with a proof for the address without TLS, where there is TLS', () => {
    const token = bound()
    const { dpop: proof } = requestWith(token, holder)
    const request = { ...target, dpop: proof }
    const check = createCheckProof(dpop, 'https')
    expect(() => check(token, holder.jkt, request)).toThrow(/the proof is for POST http:/)
    createCheckProof(dpop, 'http')(token, holder.jkt, request)
  })

  it('is refused with the proof of another token of the same request', async () => {
    const token = bound()
    const request = requestWith(token, holder)
    expect(await reasonOf(token, scoped, request)).toBe('accepted')
    const other = tokenWith({ cnf: { jkt: holder.jkt }, jti: 'token-2' })
    expect(await reasonOf(other, scoped, request)).toBe('invalid_dpop_proof')
    const ofStranger = tokenWith({ cnf: { jkt: stranger.jkt } })
    expect(await reasonOf(ofStranger, scoped, request)).toBe('invalid_dpop_proof')
  })

  it('is refused under the scheme Bearer, whatever proof comes with it', async () => {
    const token = bound()
    expect(await reasonOf(token, scoped, requestWith(token, holder, 'Bearer'))).toBe('invalid_dpop_proof')
    expect(await reasonOf(token, scoped, requestWith(token, holder, 'DPoP'))).toBe('accepted')
  })

  it('is needed under the scheme DPoP', async () => {
    const token = tokenWith()
    const request = { ...plain(), shown: { scheme: 'DPoP', token } as const }
    expect(await reasonOf(token, scoped, request)).toBe('invalid_dpop_proof')
  })
})

describe('the tokens of one request', () => {
  it('are verified once each while they are refused, and no more than eight of them', async () => {
    const request = plain()
    for (let round = 0; round < 2; round++)
      for (let at = 0; at < 8; at++) expect(await reasonOf(`x${at}`, scoped, request)).toBe('token_malformed')
    expect(verified).toBe(8)
    expect(await reasonOf('x8', scoped, request)).toBe('limit_exceeded')
    expect(await reasonOf(tokenWith(), scoped, request)).toBe('limit_exceeded')
    expect(verified).toBe(8)
    expect(await reasonOf('x8', scoped, plain())).toBe('token_malformed')
  })

  it.each([true, false])(
    'are verified again after they were accepted: they may expire meanwhile (key known: %s)',
    async (known) => {
      isKeyKnown = known
      const request = plain()
      const token = tokenWith()
      expect(await reasonOf(token, scoped, request)).toBe('accepted')
      clock.advance(4000_000)
      expect(await reasonOf(token, scoped, request)).toBe('token_expired')
    },
  )
})

it('a token of another kind is refused with the name of what needed an access token', async () => {
  const token = signJws({ typ: edgeIdProfile.typ, kid: 'k' }, claimsWith(), issuer.privateKey)
  const refused = authorize(token, scoped, plain(), 'getImages')
  await expect(refused).rejects.toThrow(/edge ID token.*getImages/)
})

describe('the token of a person with whom the account shares a service', () => {
  const forUsers: NeededToken = { caller: 'token', token: 'user' }
  const shared = {
    account_id: 'account-2',
    user: { name: 'ada@example.com', groups: [] },
    shares: { account_id: account, services: [] },
  }

  it('is accepted where users are, and nowhere else', async () => {
    expect(await reasonOf(tokenWith(shared), forUsers)).toBe('accepted')
    expect(validity(claimsWith(shared), forUsers)).toBe('valid')
    expect(await reasonOf(tokenWith(shared), associated)).toBe('wrong_account')
    expect(validity(claimsWith(shared), associated)).toBe('wrong_account')
  })

  it.each<[what: string, more: Partial<AccessClaims>]>([
    ['without a share', { account_id: 'account-2' }],
    ['with a share of another account', { ...shared, shares: { ...shared.shares, account_id: 'account-3' } }],
  ])('is refused %s', async (_, more) => {
    expect(await reasonOf(tokenWith(more), forUsers)).toBe('wrong_account')
    expect(validity(claimsWith(more), forUsers)).toBe('wrong_account')
  })

  it('is not needed of people of the account itself', async () => {
    expect(await reasonOf(tokenWith(), forUsers)).toBe('accepted')
  })

  it('ends with what revokes the tokens of either account', async () => {
    for (const revoked of [account, 'account-2']) {
      reasons = { [revoked]: 'everything' }
      expect(await reasonOf(tokenWith(shared), forUsers)).toBe('token_revoked')
      expect(validity(claimsWith(shared), forUsers)).toBe('token_revoked')
    }
    reasons = {}
    for (const removed of [account, 'account-2']) {
      state = { accountId: account, revokedUntil: { [removed]: seconds(clock) } }
      expect(await reasonOf(tokenWith(shared), forUsers)).toBe('token_revoked')
    }
  })

  it('may be of the first second of 1970', async () => {
    clock.set(60_000)
    expect(await reasonOf(tokenWith({ ...shared, iat: 0, exp: 600 }), forUsers)).toBe('accepted')
  })

  it('is looked up for the account that shares with everything else that it is', async () => {
    const claims = claimsWith(shared)
    for (let round = 0; round < 2; round++) validity(claims, forUsers)
    expect(lookedUp).toEqual([
      claims,
      { ...claims, account_id: account },
      claims,
      { ...claims, account_id: account },
    ])
    // The hashes of claims are cached with the object.
    expect(lookedUp[1]).toBe(lookedUp[3])
  })
})

describe('shares and memberships of a token', () => {
  it('are left out once they are revoked', () => {
    const claims = claimsWith()
    expect(keepUnrevoked(claims, ['s1', 's2', 'm1'])).toEqual(['s1', 's2', 'm1'])
    reasons = { s1: 'it was revoked', m1: 'it was revoked' }
    expect(keepUnrevoked(claims, ['s1', 's2', 'm1'])).toEqual(['s2'])
    expect(keepUnrevoked(claims, [])).toEqual([])
  })

  it('are looked up as tokens with their IDs, each of them as one object', () => {
    const claims = claimsWith()
    for (let round = 0; round < 2; round++) keepUnrevoked(claims, ['s1', 's2'])
    expect(lookedUp).toEqual(['s1', 's2', 's1', 's2'].map((jti) => ({ ...claims, jti })))
    expect([lookedUp[0], lookedUp[1]]).toEqual([lookedUp[2], lookedUp[3]])
    expect(lookedUp[0]).toBe(lookedUp[2])
    expect(lookedUp[1]).toBe(lookedUp[3])
  })
})
