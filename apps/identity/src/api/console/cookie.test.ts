import { expect, it } from 'vitest'
import { createSessionCookie } from './cookie.ts'

const secret = 's'.repeat(43)
const other = 'o'.repeat(43)

it('under TLS the cookie is bound to the host, and no script and no other site can use it', () => {
  const cookie = createSessionCookie(true)
  expect(cookie.write('s')).toBe(
    '__Host-selvedge=s; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=604800',
  )
  expect(cookie.write(undefined)).toContain('Max-Age=0')
  expect(cookie.read(`a=b; __Host-selvedge=${secret}; c=d`)).toEqual([secret])
  // One that a plain page, or a neighbour on another port, could have set.
  expect(cookie.read(`selvedge_session=${other}; x__Host-selvedge=${secret}`)).toEqual([])
})

it('without TLS the cookie has the same limits but for those that need TLS', () => {
  const cookie = createSessionCookie(false)
  expect(cookie.write('s')).toBe('selvedge_session=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800')
  expect(cookie.write(undefined)).toBe('selvedge_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0')
})

it.each([`${secret}x`, `x${secret}`, secret.slice(1), `${secret.slice(1)}+`, ''])(
  'a value that is no secret is not read: %j',
  (value) => {
    expect(createSessionCookie(false).read(`selvedge_session=${value}`)).toEqual([])
  },
)

it('reads up to eight cookies of its name, so that a planted one cannot hide the session', () => {
  const cookie = createSessionCookie(false)
  const pair = (value: string) => `selvedge_session=${value}`
  expect(cookie.read(`${pair(secret)}; ${pair(other)}; a=b; ${pair(other)}`)).toEqual([secret, other])
  expect(cookie.read(`${`${pair('short')}; `.repeat(900)}${pair(secret)}`)).toEqual([secret])
  const many = Array.from({ length: 100 }, (_, at) => pair(String(at).padStart(43, '0')))
  expect(cookie.read(many.join('; '))).toHaveLength(8)
  expect(cookie.read(undefined)).toEqual([])
})
