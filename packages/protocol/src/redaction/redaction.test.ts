import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../tests/harness/cpu.ts'
import { isSecretName, redactText } from './index.ts'

const secret = 'S3cr3tS3cr3tS3cr3tS3cr3tS3cr3tS3cr3tS3cr3t0'
const refreshToken = `11111111-2222-3333-4444-555555555555.7.${secret}`
const jwt = `eyJhbGciOiJFUzI1NiJ9.eyJqdGkiOiJ4In0.${secret}`

describe('text without secrets', () => {
  it.each([
    [`the token ${jwt} expired`],
    [`token:${jwt}`],
    [`refresh ${refreshToken}`],
    [`code v1.${'a'.repeat(56)}.${secret}`],
    [`GET /x Authorization: Bearer ${secret}`],
    [`authorization: ${secret}`],
    [`Cookie: a=1; __Host-selvedge=${secret}\r\nHost: x`],
    [`set-cookie: selvedge=${secret}; HttpOnly`],
    [`postgres://selvedge:${secret}@db.example/selvedge`],
    [`POST /token?client_id=x&device_code=${secret}&y=1`],
    [`access_token=${secret}`],
    [`{"grant_type":"x","password":"${secret}"}`],
    [`unexpected "{\\"device_code\\":\\"${secret}\\"}"`],
    [`{"apiKey": "${secret}"}`],
    [`DPoP ${secret}`],
    [`Session ${secret}`],
  ])('hides the secret of %s', (text) => {
    expect(redactText(text)).not.toContain(secret)
  })

  it.each([
    'getaddrinfo ENOTFOUND identity.example',
    'connect ECONNREFUSED 127.0.0.1:8083',
    'the access token expired at 12:03',
    'Error: invalid token: it is of another node',
    '    at start (file:///usr/lib/selvedge/runtime.cjs:10:5)',
    'key: 3 of 5, session: closed, link: down',
    'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ])('leaves as it is: %s', (text) => {
    expect(redactText(text)).toBe(text)
  })

  it.each(['eyJ.', 'a-', 'Bearer ', '"a" : ', 'cookie: ', '//', 'token='])(
    'is made in linear time: %j',
    async (part) => {
      expect(await growthOf(10_000, (count) => part.repeat(count), redactText)).toBeLessThan(linear)
    },
  )
})

describe('the place of a secret', () => {
  it.each([
    [`refresh 0a1b2c3d-1111-2222-3333-444455556666.12.${secret} x`, 'refresh <refresh token> x'],
    [`code v1.${'0a'.repeat(28)}.${secret}.x y`, 'code <HMAC code> y'],
    [`sent bearer   ${secret}, then`, 'sent bearer <redacted> then'],
    [`sent Basic ${secret}"`, 'sent Basic <redacted>"'],
    [`at https://user:pass@db.example/x`, 'at https://<redacted>@db.example/x'],
    [`the token ${jwt} expired`, 'the token <token> expired'],
    [`a.b.${jwt}`, '<token>'],
    ['a.b.c and x.y.', 'a.b.c and x.y.'],
    [`?a=1&device_code=${secret}&b=2`, '?a=1&device_code=<redacted>&b=2'],
    [`access_token=${secret};x`, 'access_token=<redacted>;x'],
    [`{"apiKey": "${secret}", "a": 1}`, '{"apiKey": "<redacted>", "a": 1}'],
    [`{\\"password\\" : \\"${secret}\\"}`, '{\\"password\\" : \\"<redacted>\\"}'],
    [`Cookie: a=1; b=2\r\nHost: x`, 'Cookie: <redacted>\r\nHost: x'],
    [`Proxy-Authorization: ${secret} x\nA: b`, 'Proxy-Authorization: <redacted>\nA: b'],
    [`set-cookie: ${secret} <b>`, 'set-cookie: <redacted><b>'],
    [`X-API-Key: ${secret}`, 'X-API-Key: <redacted>'],
  ])('is shown: %s', (text, expected) => expect(redactText(text)).toBe(expected))

  it.each(['device', 'user', 'enrolment', 'hmac', 'recovery'])('%s_code is one, and so is %sCode', (kind) => {
    expect(redactText(`${kind}_code=x1`)).toBe(`${kind}_code=<redacted>`)
    expect(redactText(`${kind}Code=x1`)).toBe(`${kind}Code=<redacted>`)
    expect(isSecretName(`${kind}_code`) && isSecretName(`${kind}Code`)).toBe(true)
  })

  it.each([
    ...['token', 'client_secret', 'password', 'passphrase', 'credential', 'api-key', 'api_key', 'apikey'],
    ...['session', 'cookie', 'id_token'],
  ])('a field %s has one', (name) => expect(redactText(`${name}=x1`)).toBe(`${name}=<redacted>`))

  it.each(['error_code=5', 'tokens=3', 'token_type=x', 'link=up', 'apixkey=1', 'my-authorization-x: on'])(
    '%s has no secret',
    (text) => expect(redactText(text)).toBe(text),
  )
})

it.each([
  ...['token', 'secret', 'password', 'passphrase', 'credential', 'assertion', 'authorization', 'cookie'],
  ...['proof', 'DPoP', 'signature', 'ticket', 'session', 'key', 'private_key', 'code', 'lease', 'linkUrl'],
])('%s is the name of a secret', (name) => expect(isSecretName(name)).toBe(true))

it.each(['keys', 'monkeys', 'encode', 'decoder', 'error_code', 'release', 'leases', 'TOKEN_TYPE'])(
  '%s is the name of no secret',
  (name) => expect(isSecretName(name)).toBe(false),
)

it('a name that only contains one of no secret is one of a secret', () => {
  expect(isSecretName('token_type_secret')).toBe(true)
  expect(isSecretName('token_expires_in')).toBe(true)
  expect(isSecretName('expires_in_token')).toBe(true)
})

it.each([
  ['password', true],
  ['edgeAccessToken', true],
  ['X-Api-Key', true],
  ['device_code', true],
  ['token_type', false],
  ['expires_in', false],
  ['nodeId', false],
])('%s is the name of a secret: %s', (name, expected) => {
  expect(isSecretName(name)).toBe(expected)
})
