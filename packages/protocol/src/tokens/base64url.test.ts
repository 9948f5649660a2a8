import { describe, expect, it } from 'vitest'
import { decodeBase64url, encodeBase64url } from './base64url.ts'

describe('strict base64url', () => {
  it('reads back what it wrote, and what Node wrote, for every length up to 100', () => {
    for (let length = 0; length <= 100; length++) {
      const bytes = crypto.getRandomValues(new Uint8Array(length))
      const text = Buffer.from(bytes).toString('base64url')
      expect(encodeBase64url(bytes)).toBe(text)
      expect(decodeBase64url(text)).toEqual(bytes)
    }
  })

  it('accepts only the one spelling of each value: 256 texts of two letters begin 16 bytes, not more', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    let accepted = 0
    for (const first of alphabet)
      for (const second of alphabet) if (decodeBase64url(first + second)) accepted++
    expect(accepted).toBe(256)
  })

  it.each(['A', 'AAAAA', 'AA==', 'AA=', 'A A', 'AA\n', 'A+A', 'A/A', 'AÄA', 'AA\u0000', 'A\u0080', 'ＡＡ'])(
    'refuses %j',
    (text) => {
      expect(decodeBase64url(text)).toBeUndefined()
    },
  )
})
