import { describe, expect, it } from 'vitest'
import { formsOf } from './forms.ts'

const secret = 'p"ss wörd?>~'
const bytes = Buffer.from(secret)

describe('a secret is found', () => {
  it.each([
    ['as it is', secret],
    ['in JSON', JSON.stringify({ password: secret })],
    ['in a URL', `https://host/?p=${encodeURIComponent(secret)}`],
    ['in hexadecimal', bytes.toString('hex')],
    ['in hexadecimal, in capitals', bytes.toString('hex').toUpperCase()],
    ['in base64', bytes.toString('base64')],
    ['in base64 for URLs', bytes.toString('base64url')],
    ...['', 'u', 'us', 'use', 'user:'].flatMap((before): [string, string][] => [
      [`in base64 after "${before}"`, Buffer.from(`${before}${secret} and more`).toString('base64')],
      [`in base64url after "${before}"`, Buffer.from(`${before}${secret} and more`).toString('base64url')],
    ]),
  ])('%s', (_, text) => {
    expect(formsOf(secret).some((form) => text.includes(form))).toBe(true)
  })
})

it('the forms of a secret are different, the longest first', () => {
  const forms = formsOf('secret of length')
  const lengths = forms.map(({ length }) => length)
  expect(lengths).toEqual(lengths.toSorted((one, other) => other - one))
  expect(new Set(forms).size).toBe(forms.length)
})

it('base64 without its padding is a form of its own', () => {
  expect(formsOf('1234567')).toContain('MTIzNDU2Nw')
  expect(formsOf('1234567')).toContain('MTIzNDU2Nw==')
})

it('a secret of fewer than six bytes has no forms inside of base64, which would be found everywhere', () => {
  const short = formsOf('abcde')
  expect(short).toEqual(['6162636465', 'YWJjZGU=', 'YWJjZGU', 'abcde'])
  expect(formsOf('abcdef')).toContain('FiY2RlZ')
})
