import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { publicJwk } from '../jwk.ts'
import { checkProofClaims, DpopError, openProof } from './proof.ts'

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicJwk.parse(keys.publicKey.export({ format: 'jwk' }))
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const proofWith = (header: object) =>
  `${encode({ typ: 'dpop+jwt', alg: 'ES256', jwk, ...header })}.${encode({ jti: 'j' })}.c2ln`

function refusalOf(check: () => unknown): string {
  try {
    check()
    return 'accepted'
  } catch (cause) {
    if (!(cause instanceof DpopError)) throw cause
    expect(cause.name).toBe('DpopError')
    expect(cause.code).toBe('invalid_dpop_proof')
    return cause.message
  }
}

describe('the form of a proof', () => {
  it('has a public key in its header', () => {
    const { jwk: found, jws } = openProof(proofWith({}))
    expect(found).toEqual(jwk)
    expect(jws.payload).toEqual({ jti: 'j' })
  })

  // No key is in a title: a test needs the same name in each run.
  const noKey = 'the header "jwk" of the proof is not a public P-256 key'
  it.each<[what: string, header: object, refusal: string]>([
    ['another type', { typ: 'x' }, 'the type of the proof is not dpop+jwt'],
    [
      'the type of a token',
      { typ: 'at+jwt' },
      'this is an access token (typ at+jwt); the DPoP header needs a DPoP proof',
    ],
    ['another algorithm', { alg: 'HS256' }, 'the algorithm of the proof is not ES256'],
    ['extensions', { crit: [] }, 'the proof has critical extensions'],
    ['a key of another curve', { jwk: { ...jwk, crv: 'P-384' } }, noKey],
    ['no key', { jwk: undefined }, noKey],
    ['a private key', { jwk: keys.privateKey.export({ format: 'jwk' }) }, noKey],
  ])('with %s is refused', (_, header, refusal) => {
    expect(refusalOf(() => openProof(proofWith(header)))).toBe(refusal)
  })

  it.each([
    ['', 'the proof is empty'],
    ['a.b', 'the proof does not have three parts'],
    ['Bearer x', 'this is a whole Authorization header; the DPoP header needs a DPoP proof'],
  ])('is not %j: %s', (text, refusal) => {
    expect(refusalOf(() => openProof(text))).toBe(refusal)
  })
})

describe('the claims of a proof', () => {
  const target = { htm: 'POST', htu: 'https://a.example/x', ath: undefined, now: 1000 }
  const claims = { jti: 'j', htm: 'POST', htu: 'https://a.example/x', iat: 1 }
  const refusalFor = (more: object, of: object = {}) =>
    refusalOf(() => {
      const found = checkProofClaims({ ...claims, ...more }, { ...target, ...of })
      expect(found).toEqual({ jti: (more as { jti?: string }).jti ?? 'j', iat: 1 })
    })

  it.each([
    [{}, 'accepted'],
    [{ htm: 'GET' }, 'the proof is for GET https://a.example/x; the request is POST https://a.example/x'],
    [
      { htu: 'https://b.example/' },
      'the proof is for POST https://b.example/; the request is POST https://a.example/x',
    ],
    [
      { htm: undefined },
      'the proof is for nothing https://a.example/x; the request is POST https://a.example/x',
    ],
    [
      { htm: ['POST'] },
      'the proof is for ["POST"] https://a.example/x; the request is POST https://a.example/x',
    ],
    [{ jti: undefined }, 'claim "jti" of the proof is not a short string'],
    [{ jti: '' }, 'claim "jti" of the proof is not a short string'],
    [{ jti: 1 }, 'claim "jti" of the proof is not a short string'],
    [{ jti: 'x'.repeat(256) }, 'accepted'],
    [{ jti: 'x'.repeat(257) }, 'claim "jti" of the proof is not a short string'],
    [{ iat: '1' }, 'claim "iat" of the proof is not a number'],
    [{ exp: 1001 }, 'accepted'],
    [{ exp: 1000 }, 'the proof has expired: claim "exp" is in the past or no time'],
    [{ exp: '2000' }, 'the proof has expired: claim "exp" is in the past or no time'],
    [{ nbf: 1060 }, 'accepted'],
    [{ nbf: 1061 }, 'the proof is not valid yet: claim "nbf" is in the future or no time'],
    [{ nbf: '1' }, 'the proof is not valid yet: claim "nbf" is in the future or no time'],
    [{ ath: 'x' }, 'accepted'],
  ])('%j: %s', (more, refusal) => {
    expect(refusalFor(more)).toBe(refusal)
  })

  it('have the hash of the token, if the request has one', () => {
    expect(refusalFor({ ath: 'x' }, { ath: 'x' })).toBe('accepted')
    expect(refusalFor({ ath: 'y' }, { ath: 'x' })).toBe('the proof is for another token')
    expect(refusalFor({}, { ath: 'x' })).toBe('the proof is for another token')
  })

  it('are shown up to 300 characters each', () => {
    const shown = 'x'.repeat(300)
    expect(refusalFor({ htm: 'x'.repeat(301) })).toContain(`the proof is for ${shown} https`)
    expect(refusalFor({ htu: ['x'.repeat(400)] })).toContain(` ["${'x'.repeat(298)}; `)
  })
})
