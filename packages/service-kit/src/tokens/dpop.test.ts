import { createHash, generateKeyPairSync } from 'node:crypto'
import { DpopError, publicJwk } from '@selvedge/protocol/tokens'
import * as dpop from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeClock, type FakeClock } from '../testing/index.ts'
import { createDpopVerifier, createProof, type DpopVerifier, shareDpopVerifier } from './dpop.ts'

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

  it('with a nonce of the service is valid with any clock of the device', () => {
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

  it('is valid only with its token', () => {
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

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')
const messageOf = (check: () => unknown) => {
  try {
    check()
    return 'accepted'
  } catch (cause) {
    return (cause as Error).message
  }
}

describe('the content of a proof', () => {
  const statement = { name: 'a node', hmac_key: jwk }
  const claimsOf = (proof: string) => dpop.decodeJwt(proof)

  it('is about its request, and about nothing that the request does not have', () => {
    const proof = createProof({ key: privateKey, jwk, ...request, clock })
    expect(claimsOf(proof)).toEqual({
      jti: expect.stringMatching(/^[\w-]{22}$/),
      ...request,
      iat: Math.floor(clock.now() / 1000),
    })
    expect(dpop.decodeProtectedHeader(proof)).toEqual({ alg: 'ES256', typ: 'dpop+jwt', jwk })
  })

  it('names the token and the body by their hash', () => {
    const proof = prove({ accessToken: 'token', body: '', node: statement, nonce: 'n' })
    expect(claimsOf(proof)).toMatchObject({
      nonce: 'n',
      ath: hashOf('token'),
      bh: hashOf(''),
      node: statement,
    })
  })

  it('has what a device reports: its vitals, also where they are withdrawn, and its uses of leases', () => {
    const leases = [{ jti: 'j', count: 1 }]
    expect(claimsOf(prove({ vitals: { cores: 4 }, leases } as never))).toMatchObject({
      vitals: { cores: 4 },
      leases,
    })
    expect(claimsOf(prove({ vitals: null }))).toMatchObject({ vitals: null })
    expect(claimsOf(prove())).not.toHaveProperty('vitals')
    expect(claimsOf(prove())).not.toHaveProperty('leases')
  })

  it('is given back by its check, with what is used up', () => {
    const proof = prove({ node: statement })
    const jkt = createHash('sha256')
      .update(JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y }))
      .digest('base64url')
    expect(verifier.verify(proof, request)).toEqual({
      jwk,
      jkt,
      node: statement,
      use: {
        id: hashOf(`${jkt} ${claimsOf(proof).jti}`),
        endsAt: Math.floor(clock.now() / 1000) + 120,
      },
    })
    expect(verifier.verify(prove(), request).node).toBeUndefined()
  })

  it('must cover the body where that is asked for', () => {
    expect(check(prove({ body: 'a' }), { body: 'a' })).toBe('accepted')
    expect(check(prove({ body: 'a' }), { body: 'b' })).toBe('invalid_dpop_proof')
    expect(check(prove({ body: 'a' }), { body: '' })).toBe('invalid_dpop_proof')
    expect(check(prove(), { body: 'a' })).toBe('invalid_dpop_proof')
    expect(check(prove({ body: 'a' }))).toBe('accepted')
  })

  it('is refused with the claim of the statement that is wrong', async () => {
    const proof = await altered({}, { node: { ...statement, services: [{ id: 1 }] } })
    expect(messageOf(() => verifier.verify(proof, request))).toMatch(
      /^claim "node\.services\.0\.id" of the proof: ./,
    )
  })
})

describe('the nonce of a service', () => {
  it('is a time and its seal', () => {
    expect(verifier.nonce()).toMatch(/^[0-9a-z]+\.[\w-]{22}$/)
  })

  it('is accepted for two minutes, to the second, and not before its time', () => {
    const nonce = verifier.nonce()
    clock.advance(120_000)
    expect(check(prove({ nonce }))).toBe('accepted')
    clock.advance(1000)
    expect(check(prove({ nonce }))).toBe('use_dpop_nonce')
    clock.advance(-122_000)
    expect(check(prove({ nonce }))).toBe('use_dpop_nonce')
  })

  it('has a seal for its own time only', () => {
    const [, mac] = verifier.nonce().split('.')
    clock.advance(1000)
    const [time] = verifier.nonce().split('.')
    expect(check(prove({ nonce: `${time}.${mac}` }))).toBe('use_dpop_nonce')
    for (const nonce of ['', '.', `${time}`, `${time}.`, `.${mac}`, 1])
      expect(check(prove({ nonce }))).toBe('use_dpop_nonce')
  })

  it('is the same for all replicas with one secret', () => {
    const replica = createDpopVerifier(Buffer.alloc(32, 7), clock)
    expect(check(prove({ nonce: replica.nonce() }))).toBe('accepted')
  })

  it('does not outlive the memory of its proof', () => {
    let monotonic = 0
    verifier = createDpopVerifier(Buffer.alloc(32, 7), clock, () => monotonic)
    const proof = prove()
    expect(check(proof)).toBe('accepted')
    clock.advance(120_000)
    monotonic = 120_999
    expect(check(proof)).toBe('invalid_dpop_proof')
  })
})

describe('the proofs of several processes', () => {
  it('are used up in the memory that they share', async () => {
    const used = new Map<string, number>()
    const share = () =>
      shareDpopVerifier(createDpopVerifier(Buffer.alloc(32, 7), clock), async (id, endsAt) => {
        const isNew = !used.has(id)
        used.set(id, endsAt)
        return isNew
      })
    const [one, other] = [share(), share()]
    const proof = prove({ nonce: one.nonce() })
    const { use, jkt } = await one.verify(proof, request)
    expect(jkt).toBe(verifier.verify(prove(), request).jkt)
    expect([...used]).toEqual([[use.id, use.endsAt]])
    await expect(other.verify(proof, request)).rejects.toMatchObject({
      code: 'invalid_dpop_proof',
      message: 'the proof was used before',
    })
  })
})
