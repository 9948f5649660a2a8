import { describe, expect, it } from 'vitest'
import { growthOf, linear } from '../../../../tests/harness/cpu.ts'
import { isUtf8Type } from './content-type.ts'

const type = 'application/json'
describe('a content type', () => {
  it.each([
    type,
    'Application/JSON',
    `${type};`,
    `${type} \t;`,
    `${type};;`,
    `${type}; charset=utf-8`,
    `${type};charset=UTF8`,
    `${type} ; Charset = "utf-8" ;`,
    `${type}; charset="utf8"`,
  ])('is JSON: %s', (header) => {
    expect(isUtf8Type(header, type)).toBe(true)
  })

  it.each([
    undefined,
    '',
    'application/jso',
    'text/json',
    `${type}x`,
    `x${type}`,
    `${type} x`,
    `${type}, ${type}`,
    `${type}; charset`,
    `${type}; charsetx`,
    `${type}; charset=`,
    `${type}; charset=latin1`,
    `${type}; charset="utf-8`,
    `${type}; xcharset=utf-8`,
    `${type}; boundary=utf-8`,
    `${type}; charset=utf-8; charset=utf-8`,
    `${type}; charset=utf-8; x=y`,
    `${type}; x=y; charset=utf-8`,
  ])('is not JSON in UTF-8: %s', (header) => {
    expect(isUtf8Type(header, type)).toBe(false)
  })

  it('costs time linear in its length', async () => {
    const headerOf = (spaces: number) => `${type};charset=utf-8${' '.repeat(spaces)}x`
    // A quadratic parser needed 169 ms for the longest.
    expect(await growthOf(1000, headerOf, (header) => isUtf8Type(header, type))).toBeLessThan(linear)
  })
})
