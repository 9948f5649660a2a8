import { generateKeyPairSync } from 'node:crypto'
import { DpopError, publicJwk } from '@selvedge/protocol/tokens'
import * as dpop from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../testing/index.ts'
import { createDpopVerifier, createProof, type DpopVerifier } from './dpop.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicJwk.parse(publicKey.export({ format: 'jwk' }))
const request = { htm: 'POST', htu: 'https://identity.example/edge/token' }

let clock: FakeClock
let verifier: DpopVerifier
beforeEach(() => {
  clock = createFakeClock()
  verifier = createDpopVerifier(Buffer.alloc(32, 7), clock)
})

const codeOf = (check: () => unknown) => {
  try {
    check()
    return 'accepted'
  } catch (cause) {
    return cause instanceof DpopError ? cause.code : String(cause)
  }
}
const prove = (more: object = {}) =>
  createProof({ key: privateKey, jwk, ...request, clock, nonce: verifier.nonce(), ...more })
const check = (proof: string, more: object = {}) =>
  codeOf(() => verifier.verify(proof, { ...request, ...more }))

/** A second before the clock's first. */
const past = Math.floor(createFakeClock().now() / 1000) - 1

/** A proof with its header or payload changed, signed again by the same key. */
async function altered(header: object, payload: object): Promise<string> {
  const claims = { jti: 'x', ...request, iat: 1, nonce: verifier.nonce(), ...payload }
  return new dpop.SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk, ...header } as never)
    .sign(privateKey)
}

describe('a DPoP proof', () => {
  it('of the request is accepted, once', () => {
    const proof = prove()
    expect(check(proof)).toBe('accepted')
    expect(check(proof)).toBe('invalid_dpop_proof')
  })

  it('without a nonce, or with one that is old, of another service or made up, is to be repeated', () => {
    expect(check(prove({ nonce: undefined }))).toBe('use_dpop_nonce')
    expect(check(prove({ nonce: 'x.y' }))).toBe('use_dpop_nonce')
    expect(check(prove({ nonce: createDpopVerifier(Buffer.alloc(32, 8), clock).nonce() }))).toBe(
      'use_dpop_nonce',
    )
    const proof = prove()
    clock.advance(121_000)
    expect(check(proof)).toBe('use_dpop_nonce')
  })

  it('with a forged nonce in characters of several bytes is to be repeated, like any other', () => {
    const [time = '', mac = ''] = verifier.nonce().split('.')
    expect(check(prove({ nonce: `${time}.${'é'.repeat(mac.length)}` }))).toBe('use_dpop_nonce')
  })

  it('whose claims are objects that cannot become a text is refused', async () => {
    for (const claim of [{ toString: 1, valueOf: 1 }, ['x'], null])
      expect(check(await altered({}, { htm: claim, htu: claim }))).toBe('invalid_dpop_proof')
  })

  it('with a nonce of the service is good whatever the clock of the device says', () => {
    expect(check(prove({ clock: { now: () => 0 } }))).toBe('accepted')
    expect(check(prove({ clock: { now: () => 4e12 } }))).toBe('accepted')
  })

  it.each([
    ['another method', { htm: 'GET' }],
    ['another path', { htu: 'https://identity.example/token' }],
    ['another host', { htu: 'https://evil.example/edge/token' }],
    ['another scheme', { htu: 'http://identity.example/edge/token' }],
  ])('of %s is refused', (_, more) => {
    expect(check(prove(more))).toBe('invalid_dpop_proof')
  })

  it('counts until its own end, and from its own beginning', async () => {
    const now = Math.floor(clock.now() / 1000)
    expect(check(await altered({}, { exp: now + 1, nbf: now }))).toBe('accepted')
  })

  it('stays used while its nonce is fresh, also if the clock jumps ahead and back', () => {
    const proof = prove()
    expect(check(proof)).toBe('accepted')
    clock.advance(3_600_000)
    expect(check(prove())).toBe('accepted')
    clock.advance(-3_600_000)
    expect(check(proof)).toBe('invalid_dpop_proof')
  })

  it('goes with its token only', () => {
    expect(check(prove({ accessToken: 'a' }), { accessToken: 'a' })).toBe('accepted')
    expect(check(prove({ accessToken: 'a' }), { accessToken: 'b' })).toBe('invalid_dpop_proof')
    expect(check(prove(), { accessToken: 'b' })).toBe('invalid_dpop_proof')
  })

  it.each([
    ['of another type', { typ: 'JWT' }, {}],
    [
      'with a key of another curve',
      { jwk: generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }) },
      {},
    ],
    [
      'with the key of another client',
      { jwk: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }) },
      {},
    ],
    ['with a private key in it', { jwk: privateKey.export({ format: 'jwk' }) }, {}],
    ['with a symmetric key', { jwk: { kty: 'oct', k: 'AA' } }, {}],
    ['with a point that is not on the curve', { jwk: { ...jwk, x: jwk.y } }, {}],
    ['without a key', { jwk: undefined }, {}],
    ['without jti', {}, { jti: undefined }],
    ['with an endless jti', {}, { jti: 'x'.repeat(1000) }],
    ['without iat', {}, { iat: undefined }],
    ['that has expired', {}, { exp: past }],
    ['that expires now', {}, { exp: past + 1 }],
    ['with an end that is no time', {}, { exp: 'never' }],
    ['whose end is null', {}, { exp: null }],
    ['that begins later', {}, { nbf: past + 100 }],
    ['whose beginning is no time', {}, { nbf: 'x' }],
    ['with a statement of another shape', {}, { node: { name: 1 } }],
    ['with a statement that has more than it may', {}, { node: { name: 'a', hmac_key: jwk, admin: true } }],
  ])('%s is refused', async (_, header, payload) => {
    expect(check(await altered(header, payload))).toBe('invalid_dpop_proof')
  })

  it.each(['', 'x', 'a.b.c', '..'])('%j is none', (proof) => {
    expect(check(proof)).toBe('invalid_dpop_proof')
  })
})
