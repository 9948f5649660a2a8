/** Which parameters of an authorization request are accepted, and with which error the others are refused. */
import { OAuthError } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { readParameters, readState } from './parameters.ts'

/** The prompt of a request that must not ask the person anything. */
const silent = 'none'
const hash = `${'aZ09_-'.repeat(7)}a`
const smallest = { response_type: 'code', code_challenge: hash, code_challenge_method: 'S256' }
type Fields = Readonly<Record<string, string | undefined>>
const formOf = (fields: Fields) =>
  new Map(Object.entries(fields).filter((each): each is [string, string] => each[1] !== undefined))
const read = (fields: Fields = {}) => readParameters(formOf({ ...smallest, ...fields }))

/** Error code and message, or `accepted`. */
function outcomeOf(work: () => unknown): string {
  try {
    work()
    return 'accepted'
  } catch (cause) {
    if (cause instanceof OAuthError) return `${cause.code}: ${cause.message}`
    throw cause
  }
}

it('the smallest request has only a challenge', () => {
  expect(read()).toStrictEqual({
    challenge: hash,
    nonce: '',
    loginHint: '',
    prompts: new Set(),
    maxAgeSeconds: undefined,
    jkt: '',
  })
})

it('reads what an app may add', () => {
  const given = read({
    response_mode: 'query',
    nonce: 'n',
    login_hint: 'ada@example.com',
    prompt: 'login consent',
    max_age: '60',
    dpop_jkt: `${hash.slice(1)}b`,
  })
  expect(given).toStrictEqual({
    challenge: hash,
    nonce: 'n',
    loginHint: 'ada@example.com',
    prompts: new Set(['login', 'consent']),
    maxAgeSeconds: 60,
    jkt: `${hash.slice(1)}b`,
  })
})

describe('accepts', () => {
  it.each<[string, Fields]>([
    ['the longest nonce', { nonce: 'x'.repeat(512) }],
    ['the longest login_hint', { login_hint: 'x'.repeat(254) }],
    ['no question', { prompt: 'none' }],
    ['no question, stated twice', { prompt: `${silent} ${silent}` }],
    ['prompt=select_account', { prompt: 'select_account' }],
    ['max_age=0', { max_age: '0' }],
    ['the largest max_age', { max_age: '9'.repeat(9) }],
  ])('%s', (_, fields) => {
    expect(outcomeOf(() => read(fields))).toBe('accepted')
  })
})

describe('refuses', () => {
  const challengeShape = /^invalid_request: "code_challenge" is not a SHA-256/
  const method = /^invalid_request: "code_challenge_method" is not "S256"/
  const thumbprint = /^invalid_request: "dpop_jkt" is not the thumbprint/
  const maxAge = /^invalid_request: "max_age" is not a number of seconds/
  it.each<[string, Fields, RegExp]>([
    ['a request object', { request: 'x' }, /^request_not_supported: .*"request"/],
    ['a registration', { registration: '{}' }, /^registration_not_supported: .*"registration"/],
    ['no response_type', { response_type: undefined }, /^invalid_request: "response_type" is missing/],
    ['an implicit flow', { response_type: 'token' }, /^unsupported_response_type: "response_type"/],
    ['a hybrid flow', { response_type: 'code id_token' }, /^unsupported_response_type: "response_type"/],
    ['an answer in the fragment', { response_mode: 'fragment' }, /^invalid_request: "response_mode"/],
    ['no challenge', { code_challenge: undefined }, /^invalid_request: "code_challenge" is missing/],
    ['the method plain', { code_challenge_method: 'plain' }, method],
    ['a challenge without a method, which is plain', { code_challenge_method: undefined }, method],
    ['a short challenge', { code_challenge: hash.slice(1) }, challengeShape],
    ['a long challenge', { code_challenge: `${hash}a` }, challengeShape],
    ['a challenge with a line', { code_challenge: `${hash}\n` }, challengeShape],
    ['a challenge after a line', { code_challenge: `\n${hash}` }, challengeShape],
    ['a challenge in base64', { code_challenge: hash.replace('-', '+') }, challengeShape],
    ['a long nonce', { nonce: 'x'.repeat(513) }, /^invalid_request: "nonce" has more than 512 /],
    [
      'a long login_hint',
      { login_hint: 'x'.repeat(255) },
      /^invalid_request: "login_hint" has more than 254 /,
    ],
    [
      'an unknown prompt',
      { prompt: 'login create' },
      /^invalid_request: "prompt" has "create"; .* none, login, /,
    ],
    ['two blanks in a prompt', { prompt: 'login  consent' }, /^invalid_request: "prompt" has ""/],
    [
      'no question and a sign-in',
      { prompt: `${silent} login` },
      /^invalid_request: "prompt" has "none" and other/,
    ],
    ['a negative max_age', { max_age: '-1' }, maxAge],
    ['a max_age with a unit', { max_age: '60s' }, maxAge],
    ['a max_age with ten digits', { max_age: '1'.repeat(10) }, maxAge],
    ['a max_age with no digit', { max_age: ' ' }, maxAge],
    ['a thumbprint that is too short', { dpop_jkt: 'x' }, thumbprint],
    ['a thumbprint with a line', { dpop_jkt: `${hash}\n` }, thumbprint],
  ])('%s', (_, fields, expected) => {
    expect(outcomeOf(() => read(fields))).toMatch(expected)
  })
})

describe('the state', () => {
  const stateOf = (state: string | undefined) => readState(formOf({ state }))

  it.each([undefined, '', ' ~ "\\', 'x'.repeat(4096)])('is returned unchanged: %j', (state) => {
    expect(stateOf(state)).toBe(state)
  })

  it.each([
    ['too long', 'x'.repeat(4097), /^invalid_request: "state" has more than 4096 characters/],
    ['with a line at its end', 'x\n', /^invalid_request: "state" is not printable ASCII/],
    ['with a line at its start', '\nx', /^invalid_request: "state" is not printable ASCII/],
    ['with a letter beyond ASCII', 'é', /^invalid_request: "state" is not printable ASCII/],
  ])('is refused if it is %s', (_, state, expected) => {
    expect(outcomeOf(() => stateOf(state))).toMatch(expected)
  })
})
