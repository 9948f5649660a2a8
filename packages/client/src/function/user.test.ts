import { describe, expect, it } from 'vitest'
import { readUser } from './user.ts'

const read = (value: string | undefined) => readUser({ 'x-selvedge-user': value })
const header = (name = 'ada@example.com', groups = '"drivers" "a.b-c_1"', sub = 'p-1_A') =>
  `sub="${sub}", name=%"${name}", groups=(${groups})`

describe('the person of a request', () => {
  it('has an ID, a name and groups', () => {
    const user = { sub: 'p-1_A', name: 'ada@example.com', groups: ['drivers', 'a.b-c_1'] }
    expect(read(header())).toEqual(user)
    expect(readUser(new Headers({ 'X-Selvedge-User': header() }))).toEqual(user)
  })

  it('may be in no group, and have any name', () => {
    expect(read(header('', ''))).toMatchObject({ name: '', groups: [] })
    expect(read(header('%c3%bc %25 ~!#$&', ''))).toMatchObject({ name: 'ü % ~!#$&' })
    expect(read(header('x', `"${'a'.repeat(32)}"`, 's'.repeat(64)))).toMatchObject({ sub: 's'.repeat(64) })
  })

  it('is missing without the header', () => {
    expect(read(undefined)).toBeUndefined()
    expect(readUser(new Headers())).toBeUndefined()
    expect(readUser({ 'x-selvedge-user': [header()] })).toBeUndefined()
  })

  it.each([
    ['text before it', `x${header()}`],
    ['text after it', `${header()}x`],
    ['an empty ID', header('x', '', '')],
    ['a long ID', header('x', '', 's'.repeat(65))],
    ['another character in the ID', header('x', '', 'a b')],
    ['a quote in the name', header('a"b', '')],
    ['a control character in the name', header('a\u007fb', '')],
    ['a character beyond ASCII in the name', header('ü', '')],
    ['an escape of capitals in the name', header('%C3%BC', '')],
    ['half an escape in the name', header('%c', '')],
    ['bytes that are no UTF-8 in the name', header('%c3', '')],
    ['a group without quotes', header('x', 'drivers')],
    ['text around a group', header('x', 'x"a"')],
    ['text after a group', header('x', '"a"x')],
    ['a group that begins with a dot', header('x', '".a"')],
    ['a long group', header('x', `"${'a'.repeat(33)}"`)],
    ['two spaces between groups', header('x', '"a"  "b"')],
    ['a group of capitals', header('x', '"A"')],
  ])('is not read with %s', (_, value) => {
    expect(read(value)).toBeUndefined()
  })

  it('is read up to 8192 characters', () => {
    const rest = header('').length
    expect(read(header('x'.repeat(8192 - rest)))?.name).toHaveLength(8192 - rest)
    expect(read(header('x'.repeat(8193 - rest)))).toBeUndefined()
  })
})
