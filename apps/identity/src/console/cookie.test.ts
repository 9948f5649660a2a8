import { expect, it } from 'vitest'
import { createSessionCookie } from './cookie.ts'

it('under TLS the cookie is bound to the very host, and no script and no other site can use it', () => {
  const cookie = createSessionCookie(true)
  expect(cookie.write('s')).toBe('__Host-selvedge=s; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800')
  expect(cookie.write(undefined)).toContain('Max-Age=0')
  expect(cookie.read('a=b; __Host-selvedge=secret; c=d')).toBe('secret')
  // One that a plain page, or a neighbour on another port, could have set.
  expect(cookie.read('selvedge_session=other; x__Host-selvedge=x')).toBeUndefined()
})
