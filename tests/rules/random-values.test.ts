/** Random values of unit and integration tests come from the seed of the run, so that a failure happens again. */
import { describe, expect, it } from 'vitest'
import { nodesOf, parseSource, placeOf, readTests, type Source } from './sources.ts'

const fromCrypto = new Set(['randomBytes', 'randomInt', 'randomUUID', 'getRandomValues'])

/** Uses of random values without a seed, and of the library of properties without its settings. @returns `path:line name` */
function findRandomValues(source: Source): string[] {
  return [...nodesOf(source.program)].flatMap(({ node }) => {
    const text = source.text.slice(node.start, node.end)
    if (node.type === 'ImportDeclaration') {
      if (text.includes("'fast-check'")) return [`${placeOf(source, node)} fast-check`]
      if (!/'(node:)?crypto'/.test(text)) return []
      const names = text.match(/\w+/g) ?? []
      return names.filter((name) => fromCrypto.has(name)).map((name) => `${placeOf(source, node)} ${name}`)
    }
    const isCall = node.type === 'CallExpression' && /^(Math\.random|crypto\.random\w+)\(/.test(text)
    return isCall ? [`${placeOf(source, node)} ${text.slice(0, text.indexOf('('))}`] : []
  })
}

/** Where values have to differ from those of another run beside it, and the settings themselves. */
const allowed = new Map([
  ['packages/service-kit/src/testing/free-port.ts', 'a port that no other run has'],
  ['packages/service-kit/src/testing/postgres.ts', 'the name of a database'],
  ['tests/harness/properties.ts', 'gives the library its seed'],
])

it('the values of a test come from the seed', () => {
  const sources = readTests().filter(({ path }) => !/^tests\/(system|rules)\//.test(path))
  expect(sources.length).toBeGreaterThan(300)
  const found = sources.filter(({ path }) => !allowed.has(path)).flatMap(findRandomValues)
  expect(found, 'use randomOf of tests/harness/seed.ts, or fc of tests/harness/properties.ts').toEqual([])
  const paths = new Set(sources.filter((each) => findRandomValues(each).length > 0).map(({ path }) => path))
  expect([...allowed.keys()].filter((path) => !paths.has(path))).toEqual([])
})

describe('the rule', () => {
  it.each([
    ["import { hash, randomBytes } from 'node:crypto'", 'randomBytes'],
    ["import fc from 'fast-check'", 'fast-check'],
    ['const x = Math.random()', 'Math.random'],
    ['const id = crypto.randomUUID()', 'crypto.randomUUID'],
  ])('finds the value of %s', (code, name) => {
    expect(findRandomValues(parseSource('example.ts', code))).toEqual([`example.ts:1 ${name}`])
  })

  it.each(["import { hash } from 'node:crypto'", 'const x = random.below(3)'])('accepts %s', (code) => {
    expect(findRandomValues(parseSource('example.ts', code))).toEqual([])
  })
})
