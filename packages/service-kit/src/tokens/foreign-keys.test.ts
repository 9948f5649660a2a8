/** Key sets of issuers that are not ours: what is read, and what a hostile one costs. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { type SignatureAlgorithm, signatureAlgorithms } from '@selvedge/protocol/tokens'
import { describe, expect, it } from 'vitest'
import { readForeignKeySet } from './foreign-keys.ts'

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
    expect(readForeignKeySet({ keys: [{ ...jwkOf('ES256'), alg: 'RS256' }] }).size).toBe(0)
  })

  it.each(['EdDSA', 'Ed25519'])('of Ed25519 may call its algorithm %s (RFC 9864)', (alg) => {
    expect(isUsable({ ...jwkOf('EdDSA'), alg }, 'EdDSA')).toBe(true)
    expect(isUsable({ ...jwkOf('ES256'), alg }, 'ES256')).toBe(false)
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
    ['with an exponent of a megabyte', { e: 'A'.repeat(1_000_000) }],
    ['with an exponent that begins with zeros', { e: 'AAEAAQ' }],
    ['with no exponent', { e: '' }],
    ['with an exponent that is no text', { e: 65_537 }],
    ['with an exponent of another alphabet', { e: 'AQA+' }],
    ['with no modulus', { n: '' }],
    ['with a modulus that is no text', { n: [odd(256)] }],
    ['that is called a curve', { kty: 'EC' }],
    ['without a kind', { kty: undefined }],
  ])('%s is left out', (_, more) => {
    expect(isUsable({ ...jwkOf('RS256'), ...more }, 'RS256')).toBe(false)
  })

  it.each(['AQAB', '_____w'])('with the exponent %s is read', (e) => {
    expect(isUsable({ ...jwkOf('RS256'), e }, 'RS256')).toBe(true)
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
    [
      'a coordinate of 33 bytes',
      { ...jwkOf('ES256'), y: Buffer.alloc(33, 1).toString('base64url') },
      'ES256',
    ],
    ['a coordinate of another alphabet', { ...jwkOf('ES256'), x: '+'.repeat(43) }, 'ES256'],
    ['a coordinate that is no text', { ...jwkOf('ES256'), x: [jwkOf('ES256').x] }, 'ES256'],
    ['one coordinate', { ...jwkOf('ES256'), y: undefined }, 'ES256'],
    ['the kind of another one', { ...jwkOf('ES256'), kty: 'OKP' }, 'ES256'],
    ['no curve', { ...jwkOf('ES256'), crv: undefined }, 'ES256'],
    ['the kind of a curve', { ...jwkOf('EdDSA'), kty: 'EC' }, 'EdDSA'],
    ['no kind', { ...jwkOf('EdDSA'), kty: undefined }, 'EdDSA'],
    ['a short point', { ...jwkOf('EdDSA'), x: 'AAAA' }, 'EdDSA'],
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
  it.each([
    null,
    [],
    'x',
    {},
    { keys: {} },
    { keys: [null] },
    { keys: ['x'] },
    { keys: [[]] },
    { keys: [{}, null] },
  ])('%j is no key set', (json) => {
    expect(() => readForeignKeySet(json)).toThrow('no list of keys')
  })

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

  it('has no key of an empty kid, nor of one that is no text', () => {
    for (const kid of ['', 1, null, ['k']]) {
      const set = readForeignKeySet({ keys: [{ ...jwkOf('ES256'), kid }] })
      expect([set.size, set(kid as never, 'ES256')]).toEqual([0, undefined])
    }
  })

  it('has the keys that can be used, without those that cannot', () => {
    const set = readForeignKeySet({ keys: [jwkOf('ES256'), { ...jwkOf('EdDSA'), x: 'AAAA' }] })
    expect([set.size, set.usable('EdDSA')]).toEqual([1, undefined])
  })

  it('is published as it is used: the same keys for the same algorithms, and no private member', () => {
    const set = readForeignKeySet({
      keys: [
        { ...keyPairs.ES256.privateKey.export({ format: 'jwk' }), kid: 'ES256', use: 'sig', note: 'x' },
        jwkOf('EdDSA'),
        { ...jwkOf('RS256'), alg: 'PS256', kid: 'PS256' },
        jwkOf('RS256'),
      ],
    })
    const shown = set.published()
    expect(shown).toEqual({
      keys: [
        { ...jwkOf('ES256'), alg: 'ES256' },
        { ...jwkOf('EdDSA'), alg: 'EdDSA' },
        { ...jwkOf('RS256'), alg: 'PS256', kid: 'PS256' },
        jwkOf('RS256'),
      ],
    })
    const again = readForeignKeySet(JSON.parse(JSON.stringify(shown)), set)
    expect(again.published()).toEqual(shown)
    const usesOf = (of: typeof set) =>
      shown.keys.map(({ kid }) => signatureAlgorithms.map((each) => of(kid as string, each)))
    expect(usesOf(again)).toEqual(usesOf(set))
    expect(again('RS256', 'PS256')).toBe(set('RS256', 'RS256'))
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

/** An odd number of so many bytes with the first bit set, in base64url. */
function odd(bytes: number): string {
  return Buffer.alloc(bytes, 0xff).toString('base64url')
}

it('the numbers of these tests are keys for OpenSSL', () => {
  expect(createPublicKey({ key: { kty: 'RSA', n: odd(256), e: 'AQAB' }, format: 'jwk' }).type).toBe('public')
})
