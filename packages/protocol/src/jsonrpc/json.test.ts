/** JSON that two readers could understand differently is refused. */
import { describe, expect, it } from 'vitest'
import { JsonError, parseJson } from './json.ts'

function problemOf(text: string, maxDepth?: number, isStored?: boolean): string | undefined {
  try {
    parseJson(text, maxDepth, isStored)
    return undefined
  } catch (cause) {
    expect(cause).toBeInstanceOf(JsonError)
    expect(cause).toMatchObject({ name: 'JsonError', message: expect.stringMatching(/./) })
    return (cause as JsonError).problem
  }
}

it.each([
  ...['null', 'true', '0', '-1.5e300', '"a"', '""', '[]', '{}', ' {"a" : 1} ', '[1, [2], {"a": [3]}]'],
  ...['{"a":{"a":{"a":1}}}', '[{"a":1},{"a":1}]', '{"a:b":":", "c":"\\":{["}', '"\\\\"', '{"a\\\\":1}'],
  ...['{"\\"":1,"\\\\\\"":2}', '{"a":"\\\\\\""}', '["\\\\", "]"]', '{"__proto__":1}', '{"é":"日本"}'],
])('reads %s as JSON.parse does', (text) => {
  expect(parseJson(text)).toEqual(JSON.parse(text))
})

it.each([
  ...[
    '',
    'nul',
    '{a:1}',
    "{'a':1}",
    '[1,]',
    '{"a":1,}',
    '01',
    '"\n"',
    '"a',
    '"a\\"',
    '{',
    ']',
    '"\\x"',
    '1 2',
  ],
  ...['\ufeff{}', 'NaN', '1e999', '-1e999', '[1e999]', '{"a":[1e999]}', '{"a":1e999}'],
])('refuses %j', (text) => expect(problemOf(text)).toBe('syntax'))

it.each([
  '{"a":1,"a":2}',
  '{"a":1,"b":2,"a":1}',
  '{"a":1,"\\u0061":2}',
  '[{"a":{"b":1,"b":2}}]',
  '{"a":[{"b":1,"b":{}}]}',
  '{"a":{},"a":{"b":1}}',
  '{"x":"\\\\","x":1}',
])('refuses a member that is there twice: %s', (text) => expect(problemOf(text)).toBe('syntax'))

it('names what is wrong', () => {
  expect(() => parseJson('{"a":1,"a":2}')).toThrow('two members of the same name')
  expect(() => parseJson('\ufeff1')).toThrow('byte order mark')
  expect(() => parseJson('1e999')).toThrow('too large for a double')
})

describe('the depth', () => {
  const nested = (depth: number, [open, close] = ['[', ']']) => open.repeat(depth) + close.repeat(depth)

  it('is limited before anything is built; that of siblings does not add up', () => {
    expect(problemOf(nested(32))).toBeUndefined()
    expect(problemOf(nested(33))).toBe('depth')
    expect(problemOf('[[],[],{},{}]', 2)).toBeUndefined()
    expect(problemOf('[{"a":[]}]', 2)).toBe('depth')
    expect(problemOf(`${'{"a":'.repeat(3)}1${'}'.repeat(3)}`, 3)).toBeUndefined()
    expect(problemOf(`${'{"a":'.repeat(3)}1${'}'.repeat(3)}`, 2)).toBe('depth')
    expect(problemOf('1', 0)).toBeUndefined()
    expect(problemOf('[]', 0)).toBe('depth')
  })

  it('does not count what is in a string', () => {
    expect(problemOf('["[[[[", "{{{{\\"[[["]', 1)).toBeUndefined()
    expect(problemOf('["é[", "\u{1f600}{"]', 1)).toBeUndefined()
  })
})

describe('text that a database cannot hold', () => {
  it.each(['"\\u0000"', '["\\ud800"]', '{"a":"\\udc00x"}', '{"\\u0000":1}', '{"a":[{"b":"\\ud83d"}]}'])(
    'is not stored: %s',
    (text) => {
      expect(problemOf(text, 32, true)).toBe('syntax')
      expect(problemOf(text)).toBeUndefined()
    },
  )

  it.each(['"\\ud83d\\ude00"', '{"\\u0041":null}', '[1,"\\u0001",true]', '"u0000"'])(
    'is not text with other escapes: %s',
    (text) => expect(problemOf(text, 32, true)).toBeUndefined(),
  )
})
