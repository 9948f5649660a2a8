import { describe, expect, it } from 'vitest'
import { TokenError } from '../jws.ts'
import { checkAlgorithm, checkHeader, describeValue } from './header.ts'

const header = { alg: 'ES256', typ: 'at+jwt', kid: 'k' }

type Profile = Parameters<typeof checkHeader>[1]
const own: Profile = { label: 'access token', typ: 'at+jwt' }

function refusalOf(more: object, payload: Record<string, unknown> = { iss: 'i' }, profile = own): string {
  try {
    const jws = { header: { ...header, ...more }, payload } as never
    expect(checkHeader(jws, profile)).toEqual({ iss: 'i', kid: 'k' })
    return 'accepted'
  } catch (cause) {
    if (!(cause instanceof TokenError)) throw cause
    return `${cause.reason}: ${cause.message}`
  }
}

it('a header names its algorithm, type and key', () => {
  expect(refusalOf({})).toBe('accepted')
})

it.each(['crit', 'b64', 'jwk', 'jku', 'x5c', 'x5u', 'x5t', 'x5t#S256', 'zip', 'enc'])(
  'the header member %s is never accepted, whatever its value',
  (name) => {
    for (const value of ['x', undefined, null, false])
      expect(refusalOf({ [name]: value })).toBe(
        `token_untrusted: the access token has the header "${name}", which is never accepted`,
      )
  },
)

it.each([undefined, 'none', 'HS256', 'es256', 'RS256', ['ES256']])('the algorithm %j is refused', (alg) => {
  expect(refusalOf({ alg })).toBe('token_untrusted: the algorithm of the access token is not ES256')
  expect(() => checkAlgorithm({ alg }, 'x')).toThrow('the algorithm of the x is not ES256')
})

it.each([undefined, 'JWT', 'AT+JWT', ''])('the type %j is another one', (typ) => {
  expect(refusalOf({ typ })).toBe(
    'token_untrusted: the type of the token is not "at+jwt", that of the access token',
  )
})

it.each([undefined, '', 1, null])('%j names no key and no issuer', (name) => {
  expect(refusalOf({ kid: name })).toBe('token_untrusted: the access token names no key')
  expect(refusalOf({}, { iss: name })).toBe('token_untrusted: the access token names no issuer')
})

describe('the header of a token of another issuer', () => {
  const foreign: Profile = { label: 'ID token', typ: 'JWT', algorithms: ['RS256', 'EdDSA'], isForeign: true }
  const refusal = (more: object) => refusalOf({ alg: 'RS256', typ: 'JWT', ...more }, { iss: 'i' }, foreign)

  it.each([{}, { typ: 'jwt' }, { typ: undefined }, { alg: 'EdDSA' }, { x5t: 'a', 'x5t#S256': 'b' }])(
    'may have %j',
    (more) => {
      expect(refusal(more)).toBe('accepted')
    },
  )

  it.each(['crit', 'b64', 'jwk', 'jku', 'x5c', 'x5u', 'zip', 'enc'])('has no %s', (name) => {
    expect(refusal({ [name]: 'x' })).toMatch(`the ID token has the header "${name}"`)
  })

  it.each(['at+jwt', '', null, 1, ['JWT']])('is of no other type, such as %j', (typ) => {
    expect(refusal({ typ })).toBe('token_untrusted: the type of the token is not "JWT", that of the ID token')
  })

  it('is refused with its algorithm, since others chose it', () => {
    expect(refusal({ alg: 'HS\u00fc\u2028' })).toBe(
      'token_untrusted: the algorithm of the ID token is "HS\\u00fc\\u2028", not RS256 or EdDSA',
    )
    expect(refusal({ alg: undefined })).toMatch('is missing, not RS256')
  })
})

it('a type of ours has the case that it has, and is stated', () => {
  for (const typ of ['AT+JWT', undefined])
    expect(refusalOf({ typ })).toMatch('the type of the token is not "at+jwt"')
})

describe('a value in a message', () => {
  it.each([
    ['a', '"a"'],
    [{ a: [1] }, '{"a":[1]}'],
    [undefined, 'missing'],
    ['\n\u0007', '"\\n\\u0007"'],
    ['é', '"\\u00e9"'],
    ['\u007f ~', '"\\u007f ~"'],
  ])('%j is %s', (value, text) => {
    expect(describeValue(value)).toBe(text)
  })

  it('has at most 200 characters of its JSON', () => {
    expect(describeValue('a'.repeat(300))).toBe(`"${'a'.repeat(199)}`)
  })
})
