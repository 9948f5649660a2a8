/** Times and audience of a token with a valid signature. */
import { describe, expect, it } from 'vitest'
import { TokenError } from '../jws.ts'
import type { BaseClaims, TokenProfile } from '../profiles.ts'
import { checkClaims } from './claims.ts'

const now = 1_000_000
const profile: TokenProfile<BaseClaims> = {
  label: 'test token',
  typ: 't',
  maxLifetime: 600,
  check: () => undefined,
}
const valid = { jti: 'j', iat: now, exp: now + 600, aud: 'us' }

function refusalOf(more: object, { own = profile, at = now, acceptEnded = false } = {}): string {
  try {
    checkClaims({ ...valid, ...more }, own, 'us', at, acceptEnded)
    return 'accepted'
  } catch (cause) {
    if (!(cause instanceof TokenError)) throw cause
    return `${cause.reason}: ${cause.message}`
  }
}

it('claims that are right are given back, and expired ones are refused unless that is asked for', () => {
  expect(() => checkClaims(valid, profile, 'us', now + 660)).toThrow(TokenError)
  expect(checkClaims(valid, profile, 'us', now)).toBe(valid)
})

it.each(['', 1, null, undefined])('the ID %j is no ID', (jti) => {
  expect(refusalOf({ jti })).toBe('token_malformed: claim "jti" of the test token is not a non-empty string')
})

it('the check of the kind has the last word', () => {
  const own = { ...profile, check: () => 'claim "x" is odd' }
  expect(refusalOf({}, { own })).toBe('token_malformed: claim "x" is odd in the test token')
})

describe('the times of a token', () => {
  it.each(['iat', 'exp', 'nbf'])('%s is a number of seconds from 1970 to 9999', (claim) => {
    for (const value of ['1', null, -1, 253_402_300_800, Number.NaN])
      expect(refusalOf({ [claim]: value })).toBe(
        `token_malformed: claim "${claim}" of the test token is not a time`,
      )
  })

  it('may be the first second of 1970 and the last one of 9999', () => {
    expect(refusalOf({ iat: 0, exp: 1 }, { at: 0 })).toBe('accepted')
    const last = 253_402_300_799
    expect(refusalOf({ iat: last - 1, exp: last }, { at: last })).toBe('accepted')
  })

  it('are at most the longest life of the kind apart, and at least a second', () => {
    expect(refusalOf({ exp: now + 1 })).toBe('accepted')
    for (const life of [601, 0, -1])
      expect(refusalOf({ exp: now + life })).toBe(
        `token_untrusted: the test token claims a life of ${life} s; at most 600 s are believed`,
      )
  })

  it('end with a leeway of a minute', () => {
    expect(refusalOf({}, { at: now + 659 })).toBe('accepted')
    expect(refusalOf({}, { at: now + 660 })).toMatch(
      /^token_expired: the test token .* 1970-01-12T13:56:40.000Z; it is 1970-01-12T13:57:40.000Z now$/,
    )
  })

  it('may be in the past, if that is asked for', () => {
    expect(refusalOf({}, { at: now + 100_000, acceptEnded: true })).toBe('accepted')
  })

  it('begin with a leeway of a minute, with the later one of iat and nbf', () => {
    expect(refusalOf({ iat: now + 60, nbf: 0 })).toBe('accepted')
    expect(refusalOf({ iat: now + 61 })).toBe(
      'token_not_yet_valid: the test token begins 1970-01-12T13:47:41.000Z; it is 1970-01-12T13:46:40.000Z now',
    )
    expect(refusalOf({ nbf: now + 60 })).toBe('accepted')
    expect(refusalOf({ nbf: now + 61 })).toMatch(/^token_not_yet_valid/)
    expect(refusalOf({ nbf: now + 61 }, { acceptEnded: true })).toMatch(/^token_not_yet_valid/)
  })

  it('are not compared with the clock where the reader judges them, and are times of a believable life all the same', () => {
    const own = { ...profile, readerJudgesTimes: true as const }
    expect(refusalOf({}, { own, at: 0 })).toBe('accepted')
    expect(refusalOf({}, { own, at: now + 1e6 })).toBe('accepted')
    expect(refusalOf({ exp: now + 601 }, { own })).toMatch(/^token_untrusted/)
  })
})

describe('the audience of a token', () => {
  it.each([
    ['us', {}],
    [['us'], {}],
    ['us', { azp: 'c', client_id: 'c', node_id: 'n' }],
    ['us', { azp: 'n', node_id: 'n' }],
    ['us', { azp: 'us' }],
    [['us', 'them'], { azp: 'c', client_id: 'c' }],
    [['them', 'us'], { azp: 'n', node_id: 'n' }],
  ])('%j is accepted with %j', (aud, more) => {
    expect(refusalOf({ aud, ...more })).toBe('accepted')
  })

  it.each([undefined, null, 1, '', ['us', ''], ['us', 1], [['us']]])('%j is no audience', (aud) => {
    expect(refusalOf({ aud })).toBe(
      'token_malformed: claim "aud" of the test token is not a string or a list of them',
    )
  })

  it.each(['them', 'US', 'us2', ['them'], []])('%j is another one', (aud) => {
    expect(refusalOf({ aud })).toBe('token_untrusted: the test token is not meant for us')
  })

  it('of several must have the client or node that it is for', () => {
    expect(refusalOf({ aud: ['us', 'them'] })).toMatch(
      /^token_untrusted: the test token has several audiences, and no "azp"/,
    )
  })

  it.each([
    { azp: 'x', client_id: 'c' },
    { azp: 'n', client_id: 'c', node_id: 'n' },
    { azp: 'x', node_id: 'n' },
    { azp: 'x' },
    { azp: null },
  ])('with %j is for another client or node', (more) => {
    expect(refusalOf(more)).toBe(
      'token_untrusted: claim "azp" of the test token names another client or node',
    )
  })
})
