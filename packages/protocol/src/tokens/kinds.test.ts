/** A text that is sent in place of a token is named, by its form alone. */
import { expect, it } from 'vitest'
import { describeKind, describeNeeded, typeOf } from './kinds.ts'

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const jwt = (header: unknown) => `${part(header)}.${part({})}.c2ln`
const hmacCode = `v1.${'a'.repeat(56)}.1.${'b'.repeat(22)}.${'c'.repeat(22)}.${'d'.repeat(43)}`

it.each([
  ['at+jwt', 'an access token (typ at+jwt)'],
  ['edge-id+jwt', 'an edge ID token (typ edge-id+jwt)'],
  ['JWT', 'a developer ID token (typ JWT)'],
  ['lease+jwt', 'a lease (typ lease+jwt)'],
  ['local-at+jwt', 'a local token (typ local-at+jwt)'],
  ['app-id+jwt', 'an ID token for an app (typ app-id+jwt)'],
  ['dpop+jwt', 'a DPoP proof (typ dpop+jwt)'],
  ['service+jwt', 'a service token (typ service+jwt)'],
  ['revocations+jwt', 'a list of revoked tokens (typ revocations+jwt)'],
  ['time+jwt', 'a signed time (typ time+jwt)'],
])('a JWT of the type %s is %s', (typ, name) => {
  expect(describeKind(jwt({ typ }))).toBe(name)
  expect(typeOf(jwt({ typ }))).toBe(typ)
})

it.each([
  [`01234567-89ab-cdef-0123-456789abcdef.1.${'x'.repeat(43)}`, 'a refresh token'],
  [`01234567-89ab-cdef-0123-456789abcdef.123456789012.${'x'.repeat(43)}`, 'a refresh token'],
  ['Bearer abc', 'a whole Authorization header'],
  ['dpop abc', 'a whole Authorization header'],
  ['{"access_token":"x"}', 'JSON, not the token in it'],
  ['["x"]', 'JSON, not the token in it'],
  ['"x"', 'JSON, not the token in it'],
  ['x'.repeat(43), 'a text in the form of an API key'],
  [hmacCode, 'an HMAC code'],
])('%s is %s', (text, name) => {
  expect(describeKind(text)).toBe(name)
  expect(typeOf(text)).toBeUndefined()
})

it.each([
  '',
  'x',
  'x'.repeat(42),
  'x'.repeat(44),
  `!${'x'.repeat(43)}`,
  `${'x'.repeat(43)}!`,
  'xBearer abc',
  'Bearerabc',
  'x{',
  `0${`01234567-89ab-cdef-0123-456789abcdef.1.${'x'.repeat(43)}`}`,
  `01234567-89ab-cdef-0123-456789abcdef.1.${'x'.repeat(44)}`,
  `01234567-89ab-cdef-0123-456789abcdef.1234567890123.${'x'.repeat(43)}`,
  jwt({}),
  jwt({ typ: 'other+jwt' }),
  // A member of every object, and types that are no text.
  jwt({ typ: 'constructor' }),
  jwt({ typ: ['JWT'] }),
  jwt(null),
  jwt([]),
  `${jwt({ typ: 'JWT' })}.x`,
  `${jwt({ typ: 'JWT' })}=`,
  ` ${jwt({ typ: 'JWT' })}`,
  `${part({ typ: 'JWT' })}.x`,
  `${part({ typ: 'JWT' })}..x`,
  `e30x.${part({})}.x`,
  'bm8.bm8.bm8',
  jwt({ typ: 'JWT', deep: [[[[[[1]]]]]] }),
])('%s is not known', (text) => {
  expect(describeKind(text)).toBeUndefined()
  expect(typeOf(text)).toBeUndefined()
})

it('a text that is longer than any token is not looked at', () => {
  const head = `${part({ typ: 'JWT' })}.`
  const textOf = (length: number) => `${head}${'A'.repeat(length - head.length - 2)}.A`
  expect(describeKind(textOf(8192))).toBe('a developer ID token (typ JWT)')
  expect(describeKind(textOf(8193))).toBeUndefined()
})

it('a kind that is needed is named with how to get one', () => {
  expect(describeNeeded('at+jwt')).toBe('an access token: selvedge token access')
  expect(describeNeeded('edge-id+jwt')).toBe('an edge ID token: selvedge token edge')
  expect(describeNeeded('JWT')).toBe(
    'a developer ID token: selvedge login, or the page of the project in the console',
  )
  expect(describeNeeded('dpop+jwt')).toBe('a DPoP proof')
  expect(describeNeeded('x')).toBe('a token of the type x')
})
