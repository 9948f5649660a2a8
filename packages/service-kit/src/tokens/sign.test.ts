/** Signatures of both algorithms, checked by Node itself. */
import { constants, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createJwsSigner, signJws } from './sign.ts'

const rsa: { privateKey: KeyObject; publicKey: KeyObject } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
})
const ec: { privateKey: KeyObject; publicKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

function parts(token: string) {
  const [header, payload, signature] = token.split('.') as [string, string, string]
  const json = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString())
  return {
    header: json(header),
    payload: json(payload),
    text: Buffer.from(`${header}.${payload}`),
    signature: Buffer.from(signature, 'base64url'),
  }
}

describe('a compact JWS', () => {
  it('with RS256 has a signature by PKCS #1 v1.5 with SHA-256', () => {
    const signer = createJwsSigner({ typ: 'app-id+jwt', kid: 'k' }, rsa.privateKey, 'RS256')
    const { header, payload, text, signature } = parts(signer({ sub: 'ada' }))
    expect([header, payload]).toEqual([{ alg: 'RS256', typ: 'app-id+jwt', kid: 'k' }, { sub: 'ada' }])
    const key = { key: rsa.publicKey, padding: constants.RSA_PKCS1_PADDING }
    expect(verify('sha256', text, key, signature)).toBe(true)
  })

  it('has ES256 unless it is said otherwise', () => {
    const { header, text, signature } = parts(signJws({ typ: 'at+jwt' }, {}, ec.privateKey))
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt' })
    expect(verify('sha256', text, { key: ec.publicKey, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true)
  })
})
