/** Key sets of issuers that are not ours: what is read, and what a hostile one costs. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type SignatureAlgorithm, signatureAlgorithms } from '@selvedge/protocol/tokens'
import { CompactSign, compactVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { readForeignKeySet } from './foreign-keys.ts'
import { verifySignature } from './signatures.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const keyPairs: Record<SignatureAlgorithm, { publicKey: KeyObject; privateKey: KeyObject }> = {
  RS256: rsa,
  PS256: rsa,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
}
const jwkOf = (algorithm: SignatureAlgorithm): Record<string, unknown> => ({
  ...keyPairs[algorithm].publicKey.export({ format: 'jwk' }),
  kid: algorithm,
})
const isUsable = (jwk: object, algorithm: SignatureAlgorithm, kid = 'k') =>
  readForeignKeySet({ keys: [{ ...jwk, kid }] })(kid, algorithm) !== undefined

describe('a key', () => {
  it.each(signatureAlgorithms)(
    'of %s can be used for the algorithms of its kind and no others',
    (algorithm) => {
      const kinds: Record<SignatureAlgorithm, readonly SignatureAlgorithm[]> = {
        RS256: ['RS256', 'PS256'],
        PS256: ['RS256', 'PS256'],
        ES256: ['ES256'],
        EdDSA: ['EdDSA'],
      }
      expect(signatureAlgorithms.filter((each) => isUsable(jwkOf(algorithm), each))).toEqual(kinds[algorithm])
    },
  )

  it('with an algorithm is for that one only', () => {
    const own = { ...jwkOf('RS256'), alg: 'PS256' }
    expect(signatureAlgorithms.filter((each) => isUsable(own, each))).toEqual(['PS256'])
    for (const alg of ['RS512', 'none', '', null, ['RS256']])
      expect(isUsable({ ...jwkOf('RS256'), alg }, 'RS256')).toBe(false)
  })

  it.each([
    ['for encryption', { use: 'enc' }],
    ['for other operations', { key_ops: ['sign'] }],
    ['with operations that are no list', { key_ops: 'verify' }],
    ['of another kind', { kty: 'oct', k: 'AAAA' }],
    ['without a modulus', { n: undefined }],
    ['with a modulus of another alphabet', { n: `${jwkOf('RS256').n}`.replace(/.$/, '+') }],
    ['with a modulus of 2040 bits', { n: odd(255) }],
    ['with a modulus of 4104 bits', { n: odd(513) }],
    ['with a modulus of a megabyte', { n: 'A'.repeat(1_000_000) }],
    [
      'with a modulus that begins with zeros',
      { n: Buffer.concat([Buffer.alloc(1), Buffer.from(odd(256), 'base64url')]).toString('base64url') },
    ],
    ['with an even modulus', { n: Buffer.alloc(256, 0xfe).toString('base64url') }],
    ['with the exponent 1', { e: 'AQ' }],
    ['with the exponent 3', { e: 'Aw' }],
    ['with an even exponent', { e: 'AQAC' }],
    ['with an exponent of 40 bits', { e: 'AQAAAAE' }],
    ['with an exponent as long as the modulus', { e: odd(256) }],
  ])('%s is left out', (_, more) => {
    expect(isUsable({ ...jwkOf('RS256'), ...more }, 'RS256')).toBe(false)
  })

  it('of 2048 and 4096 bits is read', () => {
    for (const bytes of [256, 512])
      expect(isUsable({ kty: 'RSA', n: odd(bytes), e: 'AQAB' }, 'RS256')).toBe(true)
  })

  it.each([
    ['a point that is not on its curve', { ...jwkOf('ES256'), y: jwkOf('ES256').x }, 'ES256'],
    ['another curve', { ...jwkOf('ES256'), crv: 'P-384' }, 'ES256'],
    [
      'a coordinate of 31 bytes',
      { ...jwkOf('ES256'), x: Buffer.alloc(31, 1).toString('base64url') },
      'ES256',
    ],
    ['Ed448', { ...jwkOf('EdDSA'), crv: 'Ed448' }, 'EdDSA'],
    ['X25519, which does not sign', { ...jwkOf('EdDSA'), crv: 'X25519' }, 'EdDSA'],
  ] as const)('with %s is left out', (_, jwk, algorithm) => {
    expect(isUsable(jwk, algorithm)).toBe(false)
  })

  it('that publishes its private part is read without it', () => {
    const jwk = keyPairs.ES256.privateKey.export({ format: 'jwk' })
    const key = readForeignKeySet({ keys: [{ ...jwk, kid: 'k' }] })('k', 'ES256')
    expect(key?.type).toBe('public')
  })
})

describe('a key set', () => {
  it.each([null, [], 'x', {}, { keys: {} }, { keys: [null] }, { keys: ['x'] }, { keys: [[]] }])(
    '%j is no key set',
    (json) => {
      expect(() => readForeignKeySet(json)).toThrow('no list of keys')
    },
  )

  it('has at most 100 keys', () => {
    const keys = Array.from({ length: 101 }, (_, at) => ({ ...jwkOf('EdDSA'), kid: `${at}` }))
    expect(readForeignKeySet({ keys: keys.slice(1) }).size).toBe(100)
    expect(() => readForeignKeySet({ keys })).toThrow('the key set has 101 keys')
  })

  it('has no key of a kid that two of them share, or that is missing', () => {
    const set = readForeignKeySet({
      keys: [
        jwkOf('ES256'),
        { ...jwkOf('EdDSA'), kid: 'ES256' },
        jwkOf('ES256'),
        { ...jwkOf('EdDSA'), kid: undefined },
      ],
    })
    expect([set.size, set('ES256', 'ES256'), set('ES256', 'EdDSA')]).toEqual([0, undefined, undefined])
  })

  it.each(['__proto__', 'constructor', 'toString'])('knows no key of the name %s', (kid) => {
    expect(readForeignKeySet({ keys: [jwkOf('ES256')] })(kid, 'ES256')).toBeUndefined()
  })

  it('keeps the object of a key that did not change, and of no other', () => {
    const before = readForeignKeySet({ keys: [jwkOf('ES256'), jwkOf('EdDSA')] })
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const after = readForeignKeySet({ keys: [jwkOf('ES256'), { ...other, kid: 'EdDSA' }] }, before)
    expect(after('ES256', 'ES256')).toBe(before('ES256', 'ES256'))
    expect(after('EdDSA', 'EdDSA')).not.toBe(before('EdDSA', 'EdDSA'))
  })
})

describe('a signature', () => {
  it.each(signatureAlgorithms)(
    'of %s that jose made is accepted, and not by any other algorithm',
    async (algorithm) => {
      const { privateKey, publicKey } = keyPairs[algorithm]
      const jws = await new CompactSign(Buffer.from('text'))
        .setProtectedHeader({ alg: algorithm })
        .sign(privateKey)
      const input = jws.slice(0, jws.lastIndexOf('.'))
      const signature = Buffer.from(jws.slice(jws.lastIndexOf('.') + 1), 'base64url')
      const accepting = signatureAlgorithms.filter((each) =>
        verifySignature(each, publicKey, input, signature),
      )
      expect(accepting).toEqual([algorithm])
      expect(verifySignature(algorithm, publicKey, `${input}x`, signature)).toBe(false)
      expect(verifySignature(algorithm, publicKey, input, signature.subarray(1))).toBe(false)
      expect((await compactVerify(jws, publicKey)).protectedHeader.alg).toBe(algorithm)
    },
  )

  it.each(['RS256', 'PS256'] as const)('of %s has the length of the key (RFC 8017 § 8)', (algorithm) => {
    const pss = algorithm === 'PS256' ? { padding: 6, saltLength: -1 } : {}
    const signed = (text: string) => sign('sha256', Buffer.from(text), { key: rsa.privateKey, ...pss })
    let text = ''
    let signature = signed(text)
    for (let count = 0; signature[0] !== 0; count++) {
      text = `${count}`
      signature = signed(text)
    }
    expect(verifySignature(algorithm, rsa.publicKey, text, signature)).toBe(true)
    expect(verifySignature(algorithm, rsa.publicKey, text, signature.subarray(1))).toBe(false)
    const longer = Buffer.concat([Buffer.alloc(1), signature])
    expect(verifySignature(algorithm, rsa.publicKey, text, longer)).toBe(false)
  })

  it('of PS256 with another length of its salt is refused (RFC 7518 § 3.5)', () => {
    const signature = sign('sha256', Buffer.from('x'), { key: rsa.privateKey, padding: 6, saltLength: 20 })
    expect(verifySignature('PS256', rsa.publicKey, 'x', signature)).toBe(false)
  })
})

/** An odd number of so many bytes with the first bit set, in base64url. */
function odd(bytes: number): string {
  return Buffer.alloc(bytes, 0xff).toString('base64url')
}

it('the numbers of these tests are keys for OpenSSL', () => {
  expect(createPublicKey({ key: { kty: 'RSA', n: odd(256), e: 'AQAB' }, format: 'jwk' }).type).toBe('public')
})
