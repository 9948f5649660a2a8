import { readUser } from '@selvedge/client/function'
import { describe, expect, it } from 'vitest'
import { userHeader } from './user-header.ts'

const read = (value: string | undefined) => readUser({ 'x-selvedge-user': value })

describe('the header that names a person', () => {
  it('is a dictionary of structured fields (RFC 9651)', () => {
    const user = { sub: 'p-1', name: 'ada@example.com', groups: ['drivers', 'admins'] }
    expect(userHeader(user)).toBe('sub="p-1", name=%"ada@example.com", groups=("drivers" "admins")')
  })

  it.each([
    ['an address', 'ada@example.com'],
    ['quotes and backslashes', 'a"b\\c'],
    ['percent signs', '100%22%0d'],
    ['lines and control characters', 'a\r\nX: y\t\u0000\u007f'],
    ['other scripts', 'Åda 🙂 \u202e'],
    ['the end of the value', '", groups=("admins")'],
    ['nothing', ''],
  ])('carries a name with %s through the helper, on one line of ASCII', (_, name) => {
    const user = { sub: 'p-1', name, groups: ['drivers'] }
    const value = userHeader(user)
    expect(value).toMatch(/^[\x20-\x7e]+$/)
    expect(read(value)).toEqual(user)
    expect(readUser(new Headers({ 'X-Selvedge-User': value }))).toEqual(user)
  })

  it('has strings of ASCII, with their quotes and backslashes escaped', () => {
    const user = { sub: 'a"b\\c\r\nÅ🙂', name: ' !~\u007f', groups: ['"', 'd\t\u0000e'] }
    expect(userHeader(user)).toBe(String.raw`sub="a\"b\\c", name=%" !~%7f", groups=("\"" "de")`)
  })

  it('has no groups for a person without groups', () => {
    expect(read(userHeader({ sub: 'p', name: 'n', groups: [] }))).toEqual({ sub: 'p', name: 'n', groups: [] })
  })

  it.each([
    undefined,
    '',
    'ada',
    'sub="p", name=%"n"',
    'sub="p", name="n", groups=()',
    'sub="p", name=%"%zz", groups=()',
    'sub="p", name=%"%ff", groups=()',
    'sub="p", name=%"n", groups=("a" "b"',
    'sub="p", name=%"n", groups=("a""b")',
    'sub="p", name=%"n", groups=("a"  "b")',
    'sub="p", name=%"n", groups=(), sub="root"',
    `sub="p", name=%"${'n'.repeat(9000)}", groups=()`,
  ])('is not accepted as %j', (value) => {
    expect(read(value)).toBeUndefined()
  })
})
