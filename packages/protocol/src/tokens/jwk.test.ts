import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { publicJwk, readJwks, thumbprintInput } from './jwk.ts'

const make = () =>
  publicJwk.parse(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }))
const jwk = make()
const entry = (kid: unknown, more: object = {}) => ({ ...jwk, kid, alg: 'ES256', use: 'sig', ...more })
const kidsOf = (...keys: unknown[]) => [...readJwks({ keys }).keys()]

it('a public key has two coordinates of 32 bytes on P-256', () => {
  expect(publicJwk.safeParse(jwk).success).toBe(true)
  for (const more of [{ kty: 'RSA' }, { crv: 'P-384' }, { x: jwk.x.slice(1) }, { y: `${jwk.y}A` }, { x: 1 }])
    expect(publicJwk.safeParse({ ...jwk, ...more }).success).toBe(false)
  expect(publicJwk.safeParse({ ...jwk, x: '+'.repeat(43) }).error?.issues[0]?.message).toBe(
    'is not 32 bytes in base64url',
  )
})

it('the signing keys of a set are read, without members that are not theirs', () => {
  expect(readJwks({ keys: [entry('a', { extra: 1 }), entry('b')], more: 1 })).toEqual(
    new Map([
      ['a', jwk],
      ['b', jwk],
    ]),
  )
})

it('what is no ES256 signing key of a set is left out', () => {
  const others = [
    entry('x', { alg: 'RS256' }),
    entry('x2', { alg: undefined }),
    entry('y', { use: 'enc' }),
    entry('', {}),
    entry(undefined),
    entry(1),
    { kty: 'RSA', kid: 'z', n: 'x', e: 'AQAB' },
  ]
  expect(kidsOf(...others, entry('a'))).toEqual(['a'])
})

it('keys of a set that share an ID are all left out, in any order and however many', () => {
  expect(kidsOf(entry('a'), entry('a', make()), entry('b'))).toEqual(['b'])
  expect(kidsOf(entry('a'), entry('a'), entry('a'))).toEqual([])
  expect(kidsOf({ kty: 'RSA', kid: 'a' }, entry('a'))).toEqual([])
  expect(kidsOf(entry('a'), { kty: 'RSA', kid: 'a' })).toEqual([])
})

it.each<[what: string, json: unknown]>([
  ['null', null],
  ['a list', []],
  ['an object without keys', {}],
  ['keys that are no list', { keys: {} }],
  ['a key that is no object', { keys: [1] }],
  ['more than a hundred keys', { keys: Array.from({ length: 101 }, (_, at) => entry(`${at}`)) }],
])('%s is no set of keys', (_, json) => {
  expect(() => readJwks(json)).toThrow()
})

it('a thumbprint is of the four members in lexical order', () => {
  const { x, y } = jwk
  expect(thumbprintInput({ y, x, kty: 'EC', crv: 'P-256' })).toBe(
    `{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`,
  )
})
