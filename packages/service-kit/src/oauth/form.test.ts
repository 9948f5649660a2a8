import type { OAuthError } from '@selvedge/protocol'
import { describe, expect, it } from 'vitest'
import { parseForm, required } from './form.ts'

const refusalOf = (read: () => unknown): string => {
  try {
    read()
    return 'accepted'
  } catch (cause) {
    const { code, message } = cause as OAuthError
    return `${code}: ${message}`
  }
}

describe('a form', () => {
  it.each<[body: string, fields: Record<string, string>]>([
    ['', {}],
    ['a=1', { a: '1' }],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=x%20y', { a: 'x y' }],
    ['a=x+y+z', { a: 'x y z' }],
    ['a=x%2By', { a: 'x+y' }],
    ['a%20b=%C3%A4', { 'a b': 'ä' }],
    ['=a', { '': 'a' }],
  ])('%j has the fields %j', (body, fields) => {
    expect(Object.fromEntries(parseForm(body))).toEqual(fields)
  })

  it.each([
    ['a', 'no "="'],
    ['a=1&', 'no "="'],
    ['a=1&a=1', 'the field "a" is repeated'],
    ['a=1&%61=2', 'the field "a" is repeated'],
    ['a=', 'the field "a" is empty'],
    ['a=x%00y', 'the field "a" has the character U+0000'],
    ['a%00=x', 'the field "a?" has the character U+0000'],
    ['a=%', 'broken % escape'],
    ['a=%E4', 'invalid UTF-8'],
    ['a=%zz', 'broken % escape'],
  ])('%j is refused: %s', (body, why) => {
    const refusal = refusalOf(() => parseForm(body))
    expect(refusal).toMatch(/^invalid_request: /)
    expect(refusal).toContain(why)
  })
})

it('empty fields are ignored where that is asked for, and every other rule stays', () => {
  expect(Object.fromEntries(parseForm('a=&b=1&c=', 'ignored'))).toEqual({ b: '1' })
  expect(refusalOf(() => parseForm('a=1&a=2', 'ignored'))).toContain('the field "a" is repeated')
  expect(refusalOf(() => parseForm('a=%00', 'ignored'))).toContain('U+0000')
})

it('a field that is missing is named', () => {
  const form = parseForm('a=1')
  expect(required(form, 'a')).toBe('1')
  expect(refusalOf(() => required(form, 'b'))).toBe('invalid_request: the field "b" is missing')
})
