/** A compact JWT is three parts of strict base64url, two of them strict JSON objects. */
import { describe, expect, it } from 'vitest'
import { type JsonObject, maxTokenLength, parseJws, splitJws, TokenError } from './jws.ts'

const encode = (text: string) => Buffer.from(text).toString('base64url')
const header = encode('{"alg":"ES256"}')
const payload = encode('{"sub":"a"}')
const token = `${header}.${payload}.c2ln`

function refusalOf(text: string, maxLength?: number): string {
  try {
    parseJws(text, undefined, maxLength)
    return 'accepted'
  } catch (cause) {
    const { reason, message } = cause as TokenError
    return `${reason}: ${message}`
  }
}

it('is read into its parts', () => {
  expect(parseJws(token)).toEqual({
    header: { alg: 'ES256' },
    payload: { sub: 'a' },
    signingInput: `${header}.${payload}`,
    signature: new Uint8Array(Buffer.from('sig')),
  })
})

it('may have a payload that is no JSON, if only its parts are asked for', () => {
  expect(splitJws(`${header}.AAAA.c2ln`).payload).toEqual(new Uint8Array(3))
  expect(() => splitJws('')).toThrow('the token is empty')
})

describe('is refused', () => {
  it.each([
    ['', 'token_missing: the token is empty'],
    ['x', 'token_malformed: the token does not have three parts'],
    [`${header}.${payload}`, 'token_malformed: the token does not have three parts'],
    [`${token}.x`, 'token_malformed: the token does not have three parts'],
    [`.${payload}.c2ln`, 'token_malformed: the header of the token is empty'],
    [`${header}..c2ln`, 'token_malformed: the payload of the token is empty'],
    [`${header}.${payload}.`, 'token_malformed: the signature of the token is empty'],
    [`${header}=.${payload}.c2ln`, 'token_malformed: the header of the token is not strict base64url'],
    [`${header}.!.c2ln`, 'token_malformed: the payload of the token is not strict base64url'],
    [
      `${header}.${payload}.c2ln\n`,
      'token_malformed: the signature of the token contains white space: remove line breaks, also at its end',
    ],
    [`${header}.${payload}.c2l`, 'token_malformed: the signature of the token is not strict base64url'],
    [`${encode('[]')}.${payload}.c2ln`, 'token_malformed: the header of the token is not a JSON object'],
    [`${header}.${encode('null')}.c2ln`, 'token_malformed: the payload of the token is not a JSON object'],
    [`${header}.${encode('"x"')}.c2ln`, 'token_malformed: the payload of the token is not a JSON object'],
  ])('as %j', (text, refusal) => {
    expect(refusalOf(text)).toBe(refusal)
  })

  it.each([
    ['JSON with a member that comes twice', encode('{"alg":"HS256","alg":"ES256"}')],
    ['text that is no JSON', encode('{')],
    ['JSON with a text that a database cannot store', encode('{"a":"\\u0000"}')],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('base64url')],
    ['JSON after a byte order mark', encode('\uFEFF{"alg":"ES256"}')],
    ['JSON that is nested more than 16 deep', encode(`{"a":${'['.repeat(17)}${']'.repeat(17)}}`)],
  ])('with a header of %s', (_, part) => {
    expect(refusalOf(`${part}.${payload}.c2ln`)).toMatch(
      /^token_malformed: the header of the token is not strict JSON: ./,
    )
  })

  it('if it is longer than its limit, and not if it is as long', () => {
    const long = `${token}${'A'.repeat(maxTokenLength - token.length)}`
    expect(long).toHaveLength(8192)
    expect(refusalOf(long)).toBe('accepted')
    expect(refusalOf(`${long}A`)).toBe('token_malformed: the token is longer than 8192 characters')
    expect(refusalOf(token, token.length)).toBe('accepted')
    expect(refusalOf(token, token.length - 1)).toMatch(/^token_malformed: the token is longer than/)
  })
})

it('a header that is known is not read again, and one that is not is stored', () => {
  const known = new Map<string, JsonObject>()
  const first = parseJws(token, known).header
  expect(known.get(header)).toBe(first)
  expect(parseJws(token, known).header).toBe(first)
  expect(parseJws(`bm8.${payload}.c2ln`, new Map([['bm8', { alg: 'x' }]])).header).toEqual({ alg: 'x' })
})

describe('a refusal of a token', () => {
  it('has its reason and message', () => {
    const error = new TokenError('token_expired', 'it has expired')
    expect(error).toMatchObject({ name: 'TokenError', reason: 'token_expired', message: 'it has expired' })
    expect(error.messageFor('updateGps')).toBe('it has expired')
  })
  it('of another kind names both kinds, and what the token is for', () => {
    const error = new TokenError('token_untrusted', '', { found: 'a DPoP proof', typ: 'x', needed: 'an x' })
    expect(error.message).toBe('this is a DPoP proof; what is needed is an x')
    expect(error.messageFor('updateGps')).toBe('this is a DPoP proof; updateGps needs an x')
  })
})
