/** The proofs of the browser's key, as the service verifies them. */
import { createHash } from 'node:crypto'
import { openProof } from '@selvedge/protocol/tokens'
import { expect, it } from 'vitest'
import type { BrowserKey } from './key.ts'
import { createProof } from './proof.ts'

async function makeKey(): Promise<BrowserKey & { publicKey: CryptoKey }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  return { privateKey, publicKey, jwk: { kty: kty!, crv: crv!, x: x!, y: y! } }
}

const url = new URL('https://console.example:8443/console/rpc?a=b#c')

it('a proof is of the method, the URL without its query, the nonce and the body, and signed', async () => {
  const key = await makeKey()
  const body = '{"name":"ü"}'
  const proof = await createProof(key, { method: 'POST', url, nonce: 'n', body })
  const { jws, jwk } = openProof(proof)
  expect(jws.header).toEqual({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk })
  expect(jwk).toEqual(key.jwk)
  const { jti, iat, ...claims } = jws.payload
  expect(claims).toEqual({
    htm: 'POST',
    htu: 'https://console.example:8443/console/rpc',
    nonce: 'n',
    bh: createHash('sha256').update(body).digest('base64url'),
  })
  expect(jti).toMatch(/^[\w-]{22}$/)
  expect(Number.isInteger(iat)).toBe(true)
  expect(Math.abs((iat as number) - Date.now() / 1000)).toBeLessThan(60)
  const signed = new TextEncoder().encode(jws.signingInput)
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
  expect(await crypto.subtle.verify(algorithm, key.publicKey, jws.signature, signed)).toBe(true)
})

it('a proof without a nonce and a body has no claims of them, and each has an ID of its own', async () => {
  const key = await makeKey()
  const prove = () => createProof(key, { method: 'GET', url, nonce: undefined, body: undefined })
  const all = await Promise.all(Array.from({ length: 50 }, prove))
  for (const each of all) {
    expect(each).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{86}$/)
    expect(Object.keys(openProof(each).jws.payload).sort()).toEqual(['htm', 'htu', 'iat', 'jti'])
  }
  expect(new Set(all.map((each) => openProof(each).jws.payload.jti)).size).toBe(50)
})
