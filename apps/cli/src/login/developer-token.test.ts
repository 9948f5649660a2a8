/** The developer ID token of a sign-in: the stored one while it is valid, else a new one, stored first. */
import type { TokenResponse } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import type { Context } from '../context/context.ts'
import { developerTokenOf, loginOf } from './developer-token.ts'
import type { Login } from './sign-ins.ts'

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const idToken = (exp: number) => `${encode({ alg: 'ES256' })}.${encode({ exp })}.c2ln`
const answer = (more: object = {}) =>
  ({
    access_token: 'a',
    scope: 'openid',
    refresh_token: 'r2',
    id_token: idToken(5000),
    ...more,
  }) as TokenResponse
const login: Login = {
  ...{ identityUrl: 'https://id.example', clientId: 'c', scope: 's', refreshToken: 'r1' },
  ...{ idToken: 'stored', idTokenEndsAt: 1000 },
}

function make(now: number) {
  const seen: unknown[] = []
  const context = {
    now: () => now,
    identityAt: (url: string) => ({
      async refresh(request: object) {
        seen.push(url, request)
        return answer()
      },
    }),
    signIns: { write: (written: Login) => seen.push(written) },
  } as unknown as Context
  return { context, seen }
}

it('is the stored one until a minute before it expires', async () => {
  const { context, seen } = make(939)
  expect(await developerTokenOf(context, login)).toBe('stored')
  expect(seen).toEqual([])
})

it('is a new one of the service that issued the sign-in, which is stored', async () => {
  const { context, seen } = make(940)
  const fresh = { ...login, scope: 'openid', refreshToken: 'r2', idToken: idToken(5000), idTokenEndsAt: 5000 }
  expect(await developerTokenOf(context, login)).toBe(fresh.idToken)
  expect(seen).toEqual(['https://id.example', { clientId: 'c', refreshToken: 'r1' }, fresh])
})

it('an answer without an ID token is no sign-in', () => {
  expect(() => loginOf(login, answer({ id_token: undefined }))).toThrow()
  expect(loginOf(login, answer({ refresh_token: undefined })).refreshToken).toBe('')
})
