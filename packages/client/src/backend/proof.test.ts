/** The proof of a request with a bound token: an attacker has the token, and proofs of other requests, but not the key. */
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { signJws, thumbprint } from '@selvedge/service-kit/tokens'
import { beforeEach, describe, expect, it } from 'vitest'
import { createProofChecker, type ProofChecker, type ProvenRequest } from './proof.ts'

interface Pair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}
const makePair = (): Pair => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwkOf = ({ publicKey }: Pair) => publicKey.export({ format: 'jwk' }) as Parameters<typeof thumbprint>[0]
const holder = makePair()
const other = makePair()

const token = 'the.access.token'
const ath = createHash('sha256').update(token).digest('base64url')
const url = 'https://backend.example:8443/readings'
const epochMs = Date.UTC(2026, 0, 1)

let elapsedMs: number
let checker: ProofChecker
const makeChecker = (max: number) =>
  createProofChecker({ now: () => epochMs + elapsedMs, monotonic: () => elapsedMs, max })
beforeEach(() => {
  elapsedMs = 0
  checker = makeChecker(100)
})

let count = 0
const claimsOf = (changes: object = {}) => ({
  ...{ jti: `proof ${count++}`, htm: 'POST', htu: url, iat: epochMs / 1000, ath },
  ...changes,
})
const signed = (claims: object, { key = holder, jwk = jwkOf(key) as object } = {}) =>
  signJws({ typ: 'dpop+jwt', jwk }, claims as never, key.privateKey)
const requestWith = (proof: string | null | undefined, changes: Partial<ProvenRequest> = {}) => ({
  ...{ method: 'POST', url, proof },
  ...changes,
})
const check = (request: ProvenRequest | undefined, pair = holder) =>
  checker.check(token, thumbprint(jwkOf(pair)), request)

describe('a proof is accepted', () => {
  it('of the key, the request and the token', async () => {
    await check(requestWith(signed(claimsOf())))
  })

  it('whatever query and fragment the request has', async () => {
    await check(requestWith(signed(claimsOf()), { url: `${url}?page=2#top` }))
  })

  it.each([-60, 60])('of a clock that differs by %i seconds', async (difference) => {
    await check(requestWith(signed(claimsOf({ iat: epochMs / 1000 + difference }))))
  })
})

describe('a proof is refused', () => {
  it.each<[why: string, request: () => ProvenRequest | undefined, message: string]>([
    ['without the request', () => undefined, 'give the request that it came with'],
    ['without the header', () => requestWith(undefined), 'the request has no DPoP header'],
    ['with null as the header', () => requestWith(null), 'the request has no DPoP header'],
    ['with an empty header', () => requestWith(''), 'the request has no DPoP header'],
    ['that is no token', () => requestWith('proof'), 'proof'],
    [
      'by another key',
      () => requestWith(signed(claimsOf(), { key: other })),
      'by another key than the token is bound to',
    ],
    [
      'signed with another key than it shows',
      () => requestWith(signed(claimsOf(), { key: other, jwk: jwkOf(holder) })),
      'the signature of the proof is not of its key',
    ],
    [
      'with claims that were changed',
      () => {
        const [header, , signature] = signed(claimsOf()).split('.')
        const payload = Buffer.from(JSON.stringify(claimsOf())).toString('base64url')
        return requestWith(`${header}.${payload}.${signature}`)
      },
      'the signature of the proof is not of its key',
    ],
    [
      'of another method',
      () => requestWith(signed(claimsOf()), { method: 'GET' }),
      `the proof is for POST ${url}; the request is GET ${url}`,
    ],
    [
      'of another path',
      () => requestWith(signed(claimsOf()), { url: `${url}/1` }),
      `the request is POST ${url}/1`,
    ],
    [
      'of another host',
      () => requestWith(signed(claimsOf()), { url: 'https://backend.example/readings' }),
      'the request is POST https://backend.example/readings',
    ],
    [
      'of another token',
      () => requestWith(signed(claimsOf({ ath: createHash('sha256').digest('base64url') }))),
      'for another token',
    ],
    ['of no token', () => requestWith(signed(claimsOf({ ath: undefined }))), 'for another token'],
    [
      'of more than a minute ago',
      () => requestWith(signed(claimsOf({ iat: epochMs / 1000 - 61 }))),
      'not of this minute',
    ],
    [
      'of more than a minute ahead',
      () => requestWith(signed(claimsOf({ iat: epochMs / 1000 + 61 }))),
      'not of this minute',
    ],
  ])('%s', async (_, request, message) => {
    const refused = check(request())
    await expect(refused).rejects.toMatchObject({ name: 'DpopError', code: 'invalid_dpop_proof' })
    await expect(refused).rejects.toThrow(message)
  })

  it('with a key that is no point of the curve', async () => {
    const jwk = { ...jwkOf(holder), y: Buffer.alloc(32, 1).toString('base64url') }
    const request = requestWith(signed(claimsOf(), { jwk }))
    await expect(checker.check(token, thumbprint(jwk), request)).rejects.toMatchObject({
      code: 'invalid_dpop_proof',
      message: 'the key of the proof is no point of P-256',
    })
  })
})

describe('a proof is used up', () => {
  it('as long as it is valid, also if it is of a minute ahead', async () => {
    const request = requestWith(signed(claimsOf({ iat: epochMs / 1000 + 60 })))
    await check(request)
    for (elapsedMs of [0, 60_000, 119_999])
      await expect(check(request)).rejects.toThrow('the proof was used before')
    elapsedMs = 120_001
    await expect(check(request)).rejects.toThrow('not of this minute')
  })

  it('only by its key: another one may have the same name for its proof', async () => {
    await check(requestWith(signed(claimsOf({ jti: 'same' }))))
    await check(requestWith(signed(claimsOf({ jti: 'same' }), { key: other })), other)
  })

  it('not by a request that is refused', async () => {
    const proof = signed(claimsOf())
    await expect(check(requestWith(proof, { method: 'GET' }))).rejects.toThrow('the proof is for POST')
    await check(requestWith(proof))
  })

  it.each([
    [1, 1],
    [11, 2],
    [20, 2],
  ])('by a key of which a tenth of %i proofs is stored, rounded up: %i', async (max, expected) => {
    checker = makeChecker(max)
    for (let at = 0; at < expected; at++) await check(requestWith(signed(claimsOf())))
    await expect(check(requestWith(signed(claimsOf())))).rejects.toMatchObject({ code: 'busy' })
  })
})
