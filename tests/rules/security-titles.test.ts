/**
 * SECURITY.md names the tests that hold its promises: the files exist, and each way to a session, a token or an account's data
 * names at least one test by its title, which exists in that file.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../harness/processes.ts'
import { childOf } from './bounds/bindings.ts'
import { nodesOf, parseSource, type Source, type SyntaxNode } from './sources.ts'

const security = readFileSync(join(root, 'SECURITY.md'), 'utf8')
const heading = "## Every way to a session, a token or an account's data"

/** Whether an expression is `it`, `describe.each(…)` and similar calls. */
function isTest(callee: SyntaxNode | undefined): boolean {
  if (callee?.type === 'Identifier') return ['it', 'test', 'describe'].includes(callee.name as string)
  if (callee?.type === 'MemberExpression') return isTest(childOf(callee, 'object'))
  return callee?.type === 'CallExpression' && isTest(childOf(callee, 'callee'))
}

/** The titles of the tests and groups of a file, as they are written. */
function titlesOf({ program }: Source): Set<unknown> {
  const titles = new Set<unknown>()
  for (const { node } of nodesOf(program)) {
    if (node.type !== 'CallExpression' || !isTest(childOf(node, 'callee'))) continue
    const [first] = node.arguments as readonly SyntaxNode[]
    if (first?.type === 'Literal' && typeof first.value === 'string') titles.add(first.value)
  }
  return titles
}

/** The rows of the first table after a heading, without its head: the text of each cell. */
function rowsAfter(text: string, title: string): string[][] {
  const [, after = ''] = text.split(`${title}\n`)
  const lines = after.slice(after.indexOf('\n|') + 1).split('\n')
  const end = lines.findIndex((line) => !line.startsWith('|'))
  return lines.slice(2, end === -1 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

/** Files and titles that a cell names: `path`: "title". */
const namedIn = (cell: string) =>
  [...cell.matchAll(/`([^`\n]+\.test\.ts)`: "([^"\n]+)"/g)].map(([, path = '', title = '']) => ({
    path,
    title,
  }))

function missing(cell: string): string[] {
  const named = namedIn(cell)
  if (named.length === 0) return [`names no test: ${cell}`]
  return named.flatMap(({ path, title }) => {
    if (!existsSync(join(root, path))) return [`there is no ${path}`]
    const titles = titlesOf(parseSource(path, readFileSync(join(root, path), 'utf8')))
    return titles.has(title) ? [] : [`${path} has no test ${JSON.stringify(title)}`]
  })
}

describe('SECURITY.md', () => {
  it('names a test that exists for every way to a session, a token or data of an account', () => {
    const rows = rowsAfter(security, heading)
    expect(rows.length).toBeGreaterThan(20)
    expect(rows.map((row) => row.length)).toEqual(rows.map(() => 4))
    expect(rows.flatMap((row) => missing(row[3]!))).toEqual([])
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

  it('reads the rows of one table', () => {
    const text = `${heading}\n\ntext\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\n| other |\n`
    expect(rowsAfter(text, heading)).toEqual([
      ['1', '2'],
      ['3', '4'],
    ])
  })
})
