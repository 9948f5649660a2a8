/** Signatures of the four algorithms, made by Node and by jose, against keys and forms of each other. */
import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type SignatureAlgorithm, signatureAlgorithms } from '@selvedge/protocol/tokens'
import { CompactSign, compactVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { signEs256 } from './es256.ts'
import { verifySignature } from './signatures.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pairs = {
  RS256: rsa,
  PS256: rsa,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
}
const text = 'größer'
const bytes = Buffer.from(text)
const pss = (privateKey: KeyObject, saltLength: number, hash = 'sha256') =>
  sign(hash, bytes, { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength })

const signatures: Readonly<Record<SignatureAlgorithm, Buffer>> = {
  RS256: sign('sha256', bytes, rsa.privateKey),
  PS256: pss(rsa.privateKey, 32),
  ES256: signEs256(pairs.ES256.privateKey, text),
  EdDSA: sign(null, bytes, pairs.EdDSA.privateKey),
}

describe.each(signatureAlgorithms)('a signature of %s', (algorithm) => {
  const { publicKey } = pairs[algorithm]
  const signature = signatures[algorithm]

  it('is of its text, as UTF-8, and of no other', () => {
    expect(verifySignature(algorithm, publicKey, text, signature)).toBe(true)
    expect(verifySignature(algorithm, publicKey, `${text}.`, signature)).toBe(false)
    expect(verifySignature(algorithm, publicKey, '', signature)).toBe(false)
  })

  it('may be made by jose', async () => {
    const { privateKey } = pairs[algorithm]
    const jws = await new CompactSign(bytes).setProtectedHeader({ alg: algorithm }).sign(privateKey)
    const [input, made] = [jws.slice(0, jws.lastIndexOf('.')), jws.slice(jws.lastIndexOf('.') + 1)]
    expect(verifySignature(algorithm, publicKey, input, Buffer.from(made, 'base64url'))).toBe(true)
    expect((await compactVerify(jws, publicKey)).protectedHeader.alg).toBe(algorithm)
  })

  it('has one form', () => {
    const wrong = [
      Buffer.alloc(0),
      signature.subarray(1),
      signature.subarray(0, -1),
      Buffer.concat([signature, Buffer.alloc(1)]),
      Buffer.concat([Buffer.alloc(1), signature]),
    ]
    for (const each of wrong) expect(verifySignature(algorithm, publicKey, text, each)).toBe(false)
  })

  it.each(signatureAlgorithms.filter((each) => each !== algorithm))('is refused as one of %s', (other) => {
    expect(verifySignature(other, pairs[other].publicKey, text, signature)).toBe(false)
    expect(verifySignature(other, publicKey, text, signature)).toBe(false)
  })
})

describe('a key of another kind', () => {
  it.each(['RS256', 'PS256'] as const)('RSA-PSS is refused for %s', (algorithm) => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
    expect(verifySignature(algorithm, publicKey, text, pss(privateKey, 32))).toBe(false)
  })

  it('Ed448 is refused for EdDSA', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed448')
    expect(verifySignature('EdDSA', publicKey, text, sign(null, bytes, privateKey))).toBe(false)
  })
})

describe('a signature by an RSA key', () => {
  it('of PS256 has a salt as long as its hash, and SHA-256', () => {
    for (const saltLength of [0, 31, 33])
      expect(verifySignature('PS256', rsa.publicKey, text, pss(rsa.privateKey, saltLength))).toBe(false)
    expect(verifySignature('PS256', rsa.publicKey, text, pss(rsa.privateKey, 32, 'sha512'))).toBe(false)
  })

  it('of RS256 has SHA-256', () => {
    const other = sign('sha512', bytes, rsa.privateKey)
    expect(verifySignature('RS256', rsa.publicKey, text, other)).toBe(false)
  })

  it('of PS256 has the zeros at its start', () => {
    let signature = pss(rsa.privateKey, 32)
    while (signature[0] !== 0) signature = pss(rsa.privateKey, 32)
    expect(verifySignature('PS256', rsa.publicKey, text, signature)).toBe(true)
    expect(verifySignature('PS256', rsa.publicKey, text, signature.subarray(1))).toBe(false)
  })

  it.each(['RS256', 'PS256'] as const)(
    'of %s may have a modulus that is no whole number of bytes',
    (algorithm) => {
      const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2050 })
      const signature = algorithm === 'RS256' ? sign('sha256', bytes, privateKey) : pss(privateKey, 32)
      expect(signature).toHaveLength(257)
      expect(verifySignature(algorithm, publicKey, text, signature)).toBe(true)
    },
  )
})
