/** Functions are short: 100 lines of code are the limit, and more than 70 need a reason in the table. */
import { describe, expect, it } from 'vitest'
import { findLongFunctions } from './long-functions.ts'
import { longFunctions, tooLongFunctions } from './long-functions-table.ts'
import { parseSource, readSources } from './sources.ts'

const needsReason = 70
const limit = 100
/** May only fall. */
const maxLongFunctions = 49

const found = readSources('packages', 'apps', 'tests', 'bench', 'docs', 'examples').flatMap((source) =>
  findLongFunctions(source, needsReason),
)

it('no function has more than 100 lines of code', () => {
  const tooLong = found.filter(({ id, lines }) => lines > (tooLongFunctions[id] ?? limit))
  expect(tooLong).toEqual([])
})

it('a function with more than 70 lines of code has a reason', () => {
  const withoutReason = found.filter(({ id }) => !longFunctions[id] && !tooLongFunctions[id])
  expect(withoutReason).toEqual([])
})

it('the table names long functions only, and no more of them than before', () => {
  const lines = new Map(found.map((each) => [each.id, each.lines]))
  const short = Object.keys(longFunctions).filter((id) => !lines.has(id))
  const split = Object.keys(tooLongFunctions).filter((id) => (lines.get(id) ?? 0) <= limit)
  expect([...short, ...split], 'remove these from tests/rules/long-functions-table.ts').toEqual([])
  const listed = Object.keys({ ...longFunctions, ...tooLongFunctions })
  expect(listed.length).toBeLessThanOrEqual(maxLongFunctions)
})

describe('the rule', () => {
  const linesIn = (text: string) => findLongFunctions(parseSource('example.ts', text), 1)

  it('counts lines of code, and not blank lines or comments', () => {
    const body = '  // Why.\n\n  /* More\n   * of it.\n   */\n  call()'
    expect(linesIn(`function a() {\n${body}\n}`)).toEqual([{ id: 'example.ts a', lines: 3 }])
  })

  it.each([
    ['a function', 'function a() {\n}'],
    ['an arrow function', 'const a = () => {\n}'],
    ['a method', 'class X {\n a() {\n}\n}'],
    ['a member', 'use({ a: () => {\n} })'],
  ])('names %s', (_, text) => {
    expect(linesIn(text)).toEqual([{ id: 'example.ts a', lines: 2 }])
  })

  it('counts a nested function in the one around it', () => {
    expect(linesIn('function a() {\nconst b = () => {\n}\n}')).toEqual([
      { id: 'example.ts a', lines: 4 },
      { id: 'example.ts b', lines: 2 },
    ])
  })
})
