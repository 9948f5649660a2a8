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
