import { describe, expect, it } from 'vitest'
import { federatedIdProfile, maxFederatedLifetimeSeconds, maxSubjectLength } from './federated-token.ts'

const profile = federatedIdProfile(['RS256', 'EdDSA'])
const problemOf = (claims: object) => profile.check({ sub: 'repo:org/app', ...claims } as never)

it('is a JWT of another issuer, with the algorithms that were asked for, for a day at most', () => {
  expect(profile).toMatchObject({
    label: 'ID token',
    typ: 'JWT',
    isForeign: true,
    algorithms: ['RS256', 'EdDSA'],
    maxLifetime: 86_400,
  })
  expect(maxFederatedLifetimeSeconds).toBe(86_400)
})

it.each([{}, { auth_time: 0 }, { auth_time: 1.5 }, { other: [{}] }])('with %j is one', (claims) => {
  expect(problemOf(claims)).toBeUndefined()
})

it.each([undefined, null, 1, '', ['x'], {}])('without a text as its subject is refused: %j', (sub) => {
  expect(problemOf({ sub })).toBe('claim "sub" is not a non-empty string')
})

it('has a subject of at most 512 characters', () => {
  expect(problemOf({ sub: 'a'.repeat(maxSubjectLength) })).toBeUndefined()
  expect(problemOf({ sub: 'a'.repeat(513) })).toBe('claim "sub" has more than 512 characters')
})

describe('a subject that people are shown', () => {
  it.each(['a\nb', '\u001b[2J', 'a\u0000', '\u007f', '\u0085'])('has no control character: %j', (sub) => {
    expect(problemOf({ sub })).toBe('claim "sub" has a control character')
  })

  it('may have any letters', () => {
    expect(problemOf({ sub: 'größe 数 🙂' })).toBeUndefined()
  })
})

it.each([null, '1', [1], {}])('with the time %j of a sign-in is refused', (auth_time) => {
  expect(problemOf({ auth_time })).toBe('claim "auth_time" is not a number')
})
