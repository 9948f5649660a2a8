import { describe, expect, it } from 'vitest'
import { readAuthorization, schemeProblem } from './authorization.ts'

describe('the Authorization header', () => {
  it.each([
    ['Bearer abc', 'Bearer'],
    ['bearer abc', 'Bearer'],
    ['BEARER   abc  ', 'Bearer'],
    ['DPoP abc', 'DPoP'],
    ['dpop abc', 'DPoP'],
  ])('%j shows a token under the scheme %s', (header, scheme) => {
    expect(readAuthorization(header)).toEqual({ scheme, token: 'abc' })
  })

  it.each([
    undefined,
    null,
    '',
    'Bearer',
    'Bearer ',
    'Bearerabc',
    'Basic abc',
    'Bearer a b',
    ' Bearer abc',
    'xDPoP abc',
    'BasicabcDPoP ',
  ])('%j shows no token', (header) => {
    expect(readAuthorization(header)).toBeUndefined()
  })
})

describe('the scheme of a token', () => {
  const cnf = { jkt: 'k' }
  it.each([
    ['Bearer', {}],
    ['DPoP', { cnf }],
    [undefined, {}],
    [undefined, { cnf }],
  ] as const)('%s suits %j', (scheme, claims) => {
    expect(schemeProblem(scheme, claims)).toBeUndefined()
  })
  it('must be DPoP for a token that is bound to a key', () => {
    expect(schemeProblem('Bearer', { cnf })).toMatch(
      /^the token is bound to a key: send it as "Authorization: DPoP/,
    )
  })
  it('must be Bearer for a token that is bound to no key', () => {
    expect(schemeProblem('DPoP', {})).toMatch(
      /^the token is bound to no key: send it as "Authorization: Bearer/,
    )
  })
})
