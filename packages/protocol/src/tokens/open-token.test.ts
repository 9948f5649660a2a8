import { expect, it } from 'vitest'
import type { TokenError } from './jws.ts'
import { openToken } from './open-token.ts'
import { accessProfile, revocationsProfile } from './profiles.ts'

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const tokenWith = (header: object, payload: object = { iss: 'https://i.example' }) =>
  `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'k', ...header })}.${encode(payload)}.c2ln`

function refusalOf(token: string): TokenError {
  try {
    openToken(token, accessProfile)
  } catch (cause) {
    return cause as TokenError
  }
  throw new Error('it was accepted')
}

it('a token is read up to its issuer and its key', () => {
  const { jws, iss, kid } = openToken(tokenWith({}), accessProfile)
  expect({ iss, kid }).toEqual({ iss: 'https://i.example', kid: 'k' })
  expect(jws.payload).toEqual({ iss: 'https://i.example' })
})

it('a token of another kind is refused with the names of both kinds', () => {
  const { reason, message, wrongKind } = refusalOf(tokenWith({ typ: 'edge-id+jwt' }))
  expect(reason).toBe('token_untrusted')
  expect(message).toBe(
    'this is an edge ID token (typ edge-id+jwt); what is needed is an access token: selvedge token access',
  )
  expect(wrongKind).toMatchObject({ typ: 'at+jwt' })
})

it('a text in the form of something else is refused with its name', () => {
  expect(refusalOf('Bearer abc')).toMatchObject({
    reason: 'token_malformed',
    wrongKind: { found: 'a whole Authorization header' },
  })
})

it('a token of the kind that is needed is refused for what is wrong with it, by the name of its kind', () => {
  const { reason, message, wrongKind } = refusalOf(tokenWith({ alg: 'none' }))
  expect({ reason, message, wrongKind }).toEqual({
    reason: 'token_untrusted',
    message: 'the algorithm of the access token is not ES256',
    wrongKind: undefined,
  })
  expect(refusalOf('a.b')).toMatchObject({ message: 'the access token does not have three parts' })
})

it('a list may be longer than a token', () => {
  const long = tokenWith({ typ: 'revocations+jwt' }, { iss: 'i', filler: 'x'.repeat(10_000) })
  expect(openToken(long, revocationsProfile).iss).toBe('i')
  expect(refusalOf(tokenWith({}, { iss: 'i', filler: 'x'.repeat(10_000) }))).toMatchObject({
    message: 'the access token is longer than 8192 characters',
  })
})

it('a failure that is no refusal is not hidden', () => {
  const broken = {
    get: () => {
      throw new RangeError('broken')
    },
    set: () => undefined,
  }
  expect(() => openToken(tokenWith({}), accessProfile, broken)).toThrow(RangeError)
})
