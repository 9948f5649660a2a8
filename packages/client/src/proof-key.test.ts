import { createHash, createPublicKey, verify } from 'node:crypto'
import { openProof } from '@selvedge/protocol/tokens'
import { expect, it } from 'vitest'
import { createProofKey } from './proof-key.ts'

const now = () => 1_700_000_000_999
const isSigned = (proof: string): boolean => {
  const { jws, jwk } = openProof(proof)
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  return verify('sha256', Buffer.from(jws.signingInput), { key, dsaEncoding: 'ieee-p1363' }, jws.signature)
}

it('a proof names method, URL, time, nonce and token of one request, and is signed', async () => {
  const key = await createProofKey(undefined, now)
  const url = 'https://id.example:8443/token?a=b#c'
  const proof = await key.prove({ method: 'POST', url, nonce: 'n', accessToken: 'a.b.c' })
  const { header, payload } = openProof(proof).jws
  expect(header).toEqual({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk })
  expect(payload).toEqual({
    jti: expect.stringMatching(/^[\da-f-]{36}$/),
    htm: 'POST',
    htu: 'https://id.example:8443/token',
    iat: 1_700_000_000,
    nonce: 'n',
    ath: createHash('sha256').update('a.b.c').digest('base64url'),
  })
  expect(isSigned(proof)).toBe(true)
})

it('a proof without nonce and token has no claims of them, and each has an ID of its own', async () => {
  const key = await createProofKey(undefined, now)
  const prove = () => key.prove({ method: 'GET', url: 'https://id.example' })
  const all = (await Promise.all([prove(), prove()])).map((proof) => openProof(proof).jws.payload)
  expect(Object.keys(all[0]!).sort()).toEqual(['htm', 'htu', 'iat', 'jti'])
  expect(all[0]!.jti).not.toBe(all[1]!.jti)
})

it('a stored key is the same key', async () => {
  const key = await createProofKey()
  const stored = await key.export()
  expect(Object.keys(stored).sort()).toEqual(['crv', 'd', 'kty', 'x', 'y'])
  expect(key.jwk).not.toHaveProperty('d')
  const again = await createProofKey(stored)
  expect(again.jwk).toEqual(key.jwk)
  expect(isSigned(await again.prove({ method: 'GET', url: 'https://id.example/' }))).toBe(true)
  expect(await again.export()).toEqual(stored)
})

it('what is no private key on P-256 is refused', async () => {
  const { d: _, ...open } = await (await createProofKey()).export()
  await expect(createProofKey(open as never)).rejects.toThrow()
})
