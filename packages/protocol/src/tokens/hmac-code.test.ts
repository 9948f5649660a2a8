import { expect, it } from 'vitest'
import { formatHmacCode, parseHmacCode } from './hmac-code.ts'

const parts = { issuer: '0a'.repeat(28), expiry: 1234, target: 't'.repeat(22), uri: 'u'.repeat(22) }
const code = formatHmacCode(parts, () => 'm'.repeat(43))

it('a code is its parts and a mac over all that is before it', () => {
  const signed = `v1.${parts.issuer}.1234.${parts.target}.${parts.uri}`
  expect(formatHmacCode(parts, (text) => `mac of ${text}`)).toBe(`${signed}.mac of ${signed}`)
  expect(parseHmacCode(code)).toEqual({ ...parts, signed, mac: 'm'.repeat(43) })
})

it('has the expiry as a number without leading zeros, up to 15 digits', () => {
  const withExpiry = (text: string) => parseHmacCode(code.replace('.1234.', `.${text}.`))?.expiry
  expect(withExpiry('1')).toBe(1)
  expect(withExpiry('9'.repeat(15))).toBe(999_999_999_999_999)
  for (const text of ['', '0', '01', '9'.repeat(16), '1e3', '-1', '1.5'])
    expect(withExpiry(text)).toBeUndefined()
})

it.each([
  ['something before it', `x${code}`],
  ['something after it', `${code}x`],
  ['another version', code.replace('v1', 'v2')],
  ['a short issuer', code.replace(parts.issuer, '0a'.repeat(27))],
  ['an issuer in upper case', code.replace(parts.issuer, '0A'.repeat(28))],
  ['a short target', code.replace('tt', 't')],
  ['a long URI', code.replace('u.', 'uu.')],
  ['a short mac', code.slice(0, -1)],
  ['another separator', code.replace('.t', ',t')],
])('is no code with %s', (_, text) => {
  expect(parseHmacCode(text)).toBeUndefined()
})

it('is made for no issuer that is not a node', () => {
  expect(() => formatHmacCode({ ...parts, issuer: 'x' }, () => '')).toThrow('issuer is not a node ID')
})
