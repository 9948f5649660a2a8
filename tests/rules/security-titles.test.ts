/**
 * SECURITY.md names the tests that hold its promises: the files exist, and each way to a session, a token or an account's data
 * names at least one test by its title, which exists in that file.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../harness/processes.ts'
import { parseSource } from './sources.ts'
import { missing, titlesOf } from './titles.ts'

const security = readFileSync(join(root, 'SECURITY.md'), 'utf8')
const heading = "## Every way to a session, a token or an account's data"

interface Way {
  readonly name: string
  /** Text of each item below the name, by its label. */
  readonly items: readonly { readonly label: string; readonly text: string }[]
}

/** The entries in the section of a heading: bold list items, each with labelled items below it. */
function waysIn(text: string, title: string): Way[] {
  const [, after = ''] = text.split(`${title}\n`)
  const [section = ''] = after.split('\n## ')
  return section
    .split(/^- /m)
    .slice(1)
    .map((entry) => {
      const [name = '', ...items] = entry.split(/^ {2}- /m)
      return {
        name: name.replaceAll('**', '').trim(),
        items: items.map((item) => {
          const [, label = '', content = ''] = /^(\w[\w ]*): ([\s\S]*)/.exec(item) ?? []
          return { label, text: content.split('\n###')[0]!.replace(/\s+/g, ' ').trim() }
        }),
      }
    })
}

describe('SECURITY.md', () => {
  it('names a test that exists for every way to a session, a token or data of an account', () => {
    const ways = waysIn(security, heading)
    expect(ways.length).toBeGreaterThan(20)
    const tests = ways.map(({ items }) => items.filter(({ label }) => label === 'Test'))
    expect(ways.filter((_, index) => tests[index]!.length === 0)).toEqual([])
    expect(tests.flat().flatMap(({ text }) => missing(text))).toEqual([])
  })

  it('names no test file that does not exist', () => {
    const files = [...security.matchAll(/`((?:tests|apps|packages)\/[^`\s*]+)`/g)].map(([, path]) => path!)
    expect(files.length).toBeGreaterThan(50)
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})

describe('the check of titles', () => {
  it('finds a title of it, describe and each, and no other text', () => {
    const source = parseSource(
      'a.test.ts',
      `it('one', () => f('two')); describe.each([])('three', () => { it.each([])('four', () => {}) }); x('five')`,
    )
    expect([...titlesOf(source)].toSorted()).toEqual(['four', 'one', 'three'])
  })

  it('reports a row without a test, a file that is not there, and a title that is not there', () => {
    expect(missing('`tests/x.test.ts`')).toHaveLength(1)
    expect(missing('`tests/nothing.test.ts`: "a"')).toEqual(['there is no tests/nothing.test.ts'])
    expect(missing('`tests/rules/security-titles.test.ts`: "nothing"')).toHaveLength(1)
    expect(missing('`tests/rules/security-titles.test.ts`: "the check of titles"')).toEqual([])
  })

  it('reads the ways of one section, items over several lines included', () => {
    const text = `${heading}\n\ntext\n\n### A\n\n- **One**\n  - Needs: a,\n    b\n  - Test: c\n\n### B\n\n- **Two**\n\n## Other\n\n- x\n`
    expect(waysIn(text, heading)).toEqual([
      {
        name: 'One',
        items: [
          { label: 'Needs', text: 'a, b' },
          { label: 'Test', text: 'c' },
        ],
      },
      { name: 'Two', items: [] },
    ])
  })
})
