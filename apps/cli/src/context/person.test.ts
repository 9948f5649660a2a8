/** What a token states of its bearer, in the form that people see. */
import { expect, it } from 'vitest'
import { readBearer } from './person.ts'

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const bearer = (payload: object) => readBearer(`${encode({ alg: 'ES256' })}.${encode(payload)}.c2ln`)
const none = { email: null, accountId: null, clientId: null, nodeId: null, scopes: [], expiresAt: null }

it('an access token names its account, client, node and scopes', () => {
  const payload = { account_id: 'a', client_id: 'c', node_id: 'n', scope: ' openid  edge:mcm', exp: 60 }
  expect(bearer({ ...payload, aud: 'x' })).toEqual({
    ...{ email: null, accountId: 'a', clientId: 'c', nodeId: 'n', scopes: ['openid', 'edge:mcm'] },
    expiresAt: '1970-01-01T00:01:00.000Z',
  })
})

it('a developer ID token is for its client', () => {
  expect(bearer({ email: 'a@b.example', aud: 'c' })).toMatchObject({ email: 'a@b.example', clientId: 'c' })
  expect(bearer({ email: 'a@b.example', aud: 'c', client_id: 'd' })?.clientId).toBe('d')
  expect(bearer({ email: 'a@b.example', aud: ['c'] })?.clientId).toBeNull()
  expect(bearer({ aud: 'c' })).toEqual(none)
})

it('what is no text is not shown', () => {
  expect(bearer({ email: 1, account_id: {}, client_id: [], node_id: true, scope: 5, exp: 'x' })).toEqual(none)
  expect(bearer({})).toEqual(none)
})

it('a time beyond every date is not shown', () => {
  expect(bearer({ exp: 8_640_000_000_000 })?.expiresAt).toMatch(/^\+275760/)
  for (const exp of [8_640_000_000_001, -8_640_000_000_001, Number.MAX_VALUE, '60'])
    expect(bearer({ exp })?.expiresAt).toBeNull()
})

it.each(['', 'a', 'a.b.c', 'a.b'])('%j is no token', (text) => expect(readBearer(text)).toBeUndefined())
