import { describe, expect, it } from 'vitest'
import { fc } from '../../../../../../../tests/harness/properties.ts'
import { duktape } from './duktape.ts'
import { maxDepth } from './jx-write.ts'

const { enc, dec } = duktape
const nest = (depth: number): unknown => {
  let value: unknown = 1
  for (let at = 0; at < depth; at++) value = [value]
  return value
}

describe('Duktape.enc and Duktape.dec', () => {
  // RFC 4648 § 10, and the examples of the Duktape guide.
  it.each([
    ['', '', ''],
    ['f', 'Zg==', '66'],
    ['fo', 'Zm8=', '666f'],
    ['foo', 'Zm9v', '666f6f'],
    ['foob', 'Zm9vYg==', '666f6f62'],
    ['fooba', 'Zm9vYmE=', '666f6f6261'],
    ['foobar', 'Zm9vYmFy', '666f6f626172'],
    ['€', '4oKs', 'e282ac'],
  ])('encode %j as base64 and hex, and back', (text, base64, hex) => {
    expect([enc('base64', text), enc('hex', text)]).toEqual([base64, hex])
    expect([String(dec('base64', base64)), String(dec('hex', hex))]).toEqual([text, text])
    expect(enc('base64', new TextEncoder().encode(text))).toBe(base64)
  })

  it('agree with Node on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50_000 }), (bytes) => {
        expect(enc('base64', bytes)).toBe(Buffer.from(bytes).toString('base64'))
        expect(enc('hex', bytes.buffer)).toBe(Buffer.from(bytes.buffer).toString('hex'))
        expect([...(dec('base64', enc('base64', bytes)) as Uint8Array)]).toEqual([...bytes])
      }),
      { numRuns: 30 },
    )
  })

  it.each([
    ['hex', 'abc'],
    ['hex', 'zz'],
    ['base64', 'A'],
    ['base64', '€'],
    ['rot13', 'a'],
    ['__proto__', 'a'],
  ])('refuse %s of %j', (format, text) => {
    expect(() => dec(format, text)).toThrow(TypeError)
  })

  const values: [unknown, string, string][] = [
    [undefined, 'undefined', '{"_undef":true}'],
    [null, 'null', 'null'],
    [true, 'true', 'true'],
    [Number.NaN, 'NaN', '{"_nan":true}'],
    [Number.POSITIVE_INFINITY, 'Infinity', '{"_inf":true}'],
    [Number.NEGATIVE_INFINITY, '-Infinity', '{"_ninf":true}'],
    [-1.5e300, '-1.5e+300', '-1.5e+300'],
    [-0, '-0', '-0'],
    [() => 1, '{_func:true}', '{"_func":true}'],
    [new Uint8Array([0xde, 0xad]), '|dead|', '{"_buf":"dead"}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"', '"1970-01-01T00:00:00.000Z"'],
    ['a"\\\n\u001f', '"a\\"\\\\\\n\\x1f"', '"a\\"\\\\\\n\\u001f"'],
    ['ü€😀', '"\\xfc\\u20ac\\U0001f600"', '"\\u00fc\\u20ac\\ud83d\\ude00"'],
    [[1, undefined, [2]], '[1,undefined,[2]]', '[1,{"_undef":true},[2]]'],
    [
      { foo: 123, bar: undefined, 'a b': 1 },
      '{foo:123,bar:undefined,"a b":1}',
      '{"foo":123,"bar":{"_undef":true},"a b":1}',
    ],
  ]
  it.each(values)('write %j as %s and %s', (value, jx, jc) => {
    expect([enc('jx', value), enc('jc', value)]).toEqual([jx, jc])
  })

  it('read what they wrote', () => {
    const data = fc.anything({ withNullPrototype: false, withBigInt: false, maxDepth: 4 })
    fc.assert(
      fc.property(data, (value) => {
        expect(dec('jx', enc('jx', value))).toEqual(value)
      }),
    )
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(dec('jc', text)).toEqual(JSON.parse(text))
      }),
    )
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 12 }), (value, space) => {
        expect(dec('jx', enc('jx', value, null, space))).toEqual(value)
        expect(JSON.parse(enc('jc', value, null, space))).toEqual(value)
      }),
    )
  })

  it('read every JSON text, and a name such as __proto__ as a name', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(dec('jx', text)).toEqual(JSON.parse(text))
      }),
    )
    const read = dec('jx', '{ __proto__: {polluted: |00ff|}, "constructor" : -0 }') as object
    expect(Object.keys(read)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })

  it.each([
    '',
    '{',
    '[1,]',
    '{a 1}',
    '"\n"',
    '"\\q"',
    '"\\U00110000"',
    '|0|',
    '01',
    'undefined1',
    '1 2',
    'x',
  ])('refuse %j as jx', (text) => expect(() => dec('jx', text)).toThrow(SyntaxError))

  it('refuse cycles, depth and size, each with an error that a handler can catch', () => {
    const cycle: unknown[] = []
    cycle.push({ cycle })
    expect(() => enc('jx', cycle)).toThrow(/cyclic/)
    const twice = { a: 1 }
    expect(enc('jx', [twice, twice])).toBe('[{a:1},{a:1}]')
    expect(enc('jx', nest(maxDepth))).toHaveLength(2 * maxDepth + 1)
    expect(() => enc('jc', nest(maxDepth + 1))).toThrow(RangeError)
    expect(() => dec('jx', '['.repeat(1_000_000))).toThrow(RangeError)
    expect(() => enc('hex', new Uint8Array(17 * 1024 * 1024))).toThrow(RangeError)
    expect(() => enc('jx', new Uint8Array(17 * 1024 * 1024))).toThrow(RangeError)
    expect(() => dec('base64', 'A'.repeat(33 * 1024 * 1024))).toThrow(RangeError)
    // Few objects that would be a text of 10^30 characters.
    let wide: unknown = 'x'
    for (let at = 0; at < 30; at++) wide = Array.from({ length: 10 }, () => wide)
    expect(() => enc('jx', wide)).toThrow(RangeError)
    expect(() => enc('jc', wide, null, 10)).toThrow(RangeError)
  })
})
