import { expect, it } from 'vitest'
import { TokenError } from '../jws.ts'
import { checkAlgorithm, checkHeader } from './header.ts'

const header = { alg: 'ES256', typ: 'at+jwt', kid: 'k' }

function refusalOf(more: object, payload: Record<string, unknown> = { iss: 'i' }): string {
  try {
    const jws = { header: { ...header, ...more }, payload } as never
    expect(checkHeader(jws, { label: 'access token', typ: 'at+jwt' })).toEqual({ iss: 'i', kid: 'k' })
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
