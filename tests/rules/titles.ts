/** Titles of tests that a document names: `path`: "title". */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../harness/processes.ts'
import { childOf } from './bounds/bindings.ts'
import { nodesOf, parseSource, type Source, type SyntaxNode } from './sources.ts'

/** Whether an expression is `it`, `describe.each(…)` and similar calls. */
function isTest(callee: SyntaxNode | undefined): boolean {
  if (callee?.type === 'Identifier') return ['it', 'test', 'describe'].includes(callee.name as string)
  if (callee?.type === 'MemberExpression') return isTest(childOf(callee, 'object'))
  return callee?.type === 'CallExpression' && isTest(childOf(callee, 'callee'))
}

/** The titles of the tests and groups of a file, as they are written. */
export function titlesOf({ program }: Source): Set<unknown> {
  const titles = new Set<unknown>()
  for (const { node } of nodesOf(program)) {
    if (node.type !== 'CallExpression' || !isTest(childOf(node, 'callee'))) continue
    const [first] = node.arguments as readonly SyntaxNode[]
    if (first?.type === 'Literal' && typeof first.value === 'string') titles.add(first.value)
  }
  return titles
}

/** Files and titles that a text names: `path`: "title". */
const namedIn = (text: string) =>
  [...text.matchAll(/`([^`\n]+\.test\.ts)`: "([^"\n]+)"/g)].map(([, path = '', title = '']) => ({
    path,
    title,
  }))

/** @returns what is wrong with the tests that a text names; empty if it names one, and all of them exist */
export function missing(text: string): string[] {
  const named = namedIn(text)
  if (named.length === 0) return [`names no test: ${text}`]
  return named.flatMap(({ path, title }) => {
    if (!existsSync(join(root, path))) return [`there is no ${path}`]
    const titles = titlesOf(parseSource(path, readFileSync(join(root, path), 'utf8')))
    return titles.has(title) ? [] : [`${path} has no test ${JSON.stringify(title)}`]
  })
}
