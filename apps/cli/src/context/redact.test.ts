import { redactText } from '@selvedge/protocol/redaction'
import { describe, expect, it } from 'vitest'
import { redactBody, redactHeader } from './redact.ts'

const form = 'application/x-www-form-urlencoded'
const json = 'application/json'
const refreshToken = `11111111-2222-3333-4444-555555555555.7.${'s'.repeat(43)}`
const jwt = `eyJhbGciOiJFUzI1NiJ9.eyJqdGkiOiJ4In0.${'s'.repeat(86)}`

describe('a call as --verbose shows it', () => {
  it.each([
    ['refresh_token', refreshToken],
    ['device_code', 'DC-SECRET'],
    ['id_token', jwt],
    ['edge_id_token', 'opaque'],
    ['subject_token', 'opaque'],
    ['actor_token', 'opaque'],
    ['token', refreshToken],
    ['client_secret', 'opaque'],
    ['user_code', 'BCDF-GHJK'],
  ])('hides the field %s of a form', (name, value) => {
    const shown = redactBody(`grant_type=x&${name}=${encodeURIComponent(value)}&scope=openid`, form)
    expect(shown).toBe(`grant_type=x&${name}=<${name}>&scope=openid`)
  })

  it('hides a secret by its shape, whatever the field is called', () => {
    for (const value of [refreshToken, jwt, `v1.${'a'.repeat(56)}.1.b.c.d`]) {
      expect(redactBody(`note=${encodeURIComponent(value)}`, form)).not.toContain(value.slice(-20))
      expect(redactBody(JSON.stringify({ note: [value] }), json)).not.toContain(value.slice(-20))
      expect(redactText(`https://host/x?y=${value}`)).not.toContain(value.slice(-20))
    }
  })

  it.each([
    ['Authorization', 'Bearer abc.def'],
    ['Authorization', 'Session abc'],
    ['Authorization', 'DPoP abc'],
    ['Authorization', 'abc'],
    ['DPoP', 'abc'],
    ['Cookie', 'session=abc'],
    ['X-Api-Key', 'abc'],
  ])('hides the header %s: %s', (name, value) => {
    expect(redactHeader(name, value)).not.toContain('abc')
  })

  const shown = (value: unknown) => JSON.parse(redactBody(JSON.stringify(value), json))

  it('shows of positional parameters what their declared names allow, and of undeclared ones numbers only', () => {
    const positional = { id: 1, method: 'updateGps', params: ['x', '1', null, 'v'] }
    expect(shown(positional)).toEqual({ ...positional, params: ['<edgeAccessToken>', '1', null, 'v'] })
    expect(shown({ method: 'account.create', params: ['ada@example.com'] }).params).toEqual([
      'ada@example.com',
    ])
    for (const method of ['unknown', 'toString', 7, undefined])
      expect(shown({ method, params: [1, '', 'x', ['y'], null] }).params).toEqual([
        ...[1, '', '<parameter>', '<parameter>', '<parameter>'],
      ])
    expect(shown({ method: 'getMe', params: ['a', 'b', 3, 'c', 'd'] }).params.slice(-3)).toEqual([
      ...[3, '<parameter>', '<parameter>'],
    ])
  })

  it('shows only the settings of the runtime among the variables of a container', () => {
    const env = { 'MCM.BASE_API_PATH': '/van', SIZE: 'abc', 'MY-MCM.': 'def', '': 'x' }
    expect(shown({ env })).toEqual({
      env: { 'MCM.BASE_API_PATH': '/van', SIZE: '<value>', 'MY-MCM.': '<value>', '': '<value>' },
    })
    expect(shown({ other: { SIZE: 'abc' } })).toEqual({ other: { SIZE: 'abc' } })
  })

  it('shows that a secret is missing', () => {
    expect(shown({ token: null, list: [null, 1, { token: 'x' }] })).toEqual({
      token: null,
      list: [null, 1, { token: '<token>' }],
    })
  })

  it('hides a header that has the word of a scheme inside', () => {
    expect(redactHeader('DPoP', 'x Bearer abc')).toBe('<redacted>')
    expect(redactHeader('Authorization', 'basic abc')).toMatch(/^basic </)
  })

  it('reads a form with its parameters', () => {
    expect(redactBody('token=x', `${form}; charset=utf-8`)).toBe('token=<token>')
    expect(redactBody('token=x', 'text/plain')).toBe('<7 characters>')
  })

  it('shows what is no secret', () => {
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'updateGps',
      params: { edgeAccessToken: 'x', longitude: '1', latitude: '2', speed: '3', bearing: '4' },
    }
    expect(JSON.parse(redactBody(JSON.stringify(call), json))).toEqual({
      ...call,
      params: { ...call.params, edgeAccessToken: '<edgeAccessToken>' },
    })
    expect(redactHeader('Content-Type', json)).toBe(json)
    expect(redactText('https://user:pass@host/token')).toBe('https://<redacted>@host/token')
  })

  it('shows nothing of a body that it cannot read', () => {
    expect(redactBody('not json', json)).toBe('<8 characters>')
  })
})
