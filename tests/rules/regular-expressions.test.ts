/**
 * No regular expression backtracks more than linearly: each may see foreign text, today or after the next change.
 * recheck searches for an input that makes it slow.
 */

import { check } from 'recheck'
import { describe, expect, it } from 'vitest'
import { nodesOf, parseSource, placeOf, readSources, type Source, type SyntaxNode } from './sources.ts'

interface Pattern {
  readonly pattern: string
  readonly flags: string
}

/** Files that build patterns from their own constants, never from foreign text. */
const buildsFromConstants = new Set([
  'apps/runtime/src/services/engines/function/cgroup.ts',
  'apps/runtime/src/services/engines/function/memory.ts',
  'apps/runtime/src/services/images/registry/registry.ts',
  'apps/runtime/src/api/rest/rest.ts',
])

/** The number of steps decides, and no time: a pattern counts as slow if it exceeds one, which a busy machine may do. */
const limits = { timeout: 240_000, attackTimeout: 60_000, incubationTimeout: 60_000, randomSeed: 1 }

const patternsOf = (source: Source): { node: SyntaxNode; regex: Pattern }[] =>
  [...nodesOf(source.program)].flatMap(({ node }) => {
    const regex = node.type === 'Literal' ? (node.regex as Pattern | undefined) : undefined
    return regex ? [{ node, regex }] : []
  })

/** What is wrong with a pattern, or undefined. */
const problems = new Map<string, Promise<string | undefined>>()

async function searchProblem({ pattern, flags }: Pattern): Promise<string | undefined> {
  const verdict = await check(pattern, flags, limits)
  if (verdict.status === 'safe') return undefined
  return verdict.status === 'vulnerable' ? verdict.complexity.summary : verdict.status
}

/** One pattern after the other: recheck answers all of them in one process then, and each starts one otherwise. */
async function slowPatternsOf(source: Source): Promise<string[]> {
  const slow: string[] = []
  for (const { node, regex } of patternsOf(source)) {
    const key = `${regex.flags}/${regex.pattern}`
    const problem = problems.get(key) ?? searchProblem(regex)
    problems.set(key, problem)
    const cost = await problem
    if (cost) slow.push(`${placeOf(source, node)} /${regex.pattern}/: ${cost}`)
  }
  return slow
}

/** `new RegExp(text)` hides its pattern from the rule above. */
const builtPatternsOf = (source: Source): string[] =>
  [...nodesOf(source.program)]
    .filter(({ node }) => {
      const { type, callee } = node as { type: string; callee?: { name?: string } }
      return (type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp'
    })
    .map(({ node }) => placeOf(source, node))

describe('regular expressions', () => {
  const sources = readSources('packages', 'apps')

  const withPatterns = sources.filter((source) => patternsOf(source).length > 0)
  expect(withPatterns.length).toBeGreaterThan(50)

  it.each(withPatterns)(
    'of $path are linear in the length of their input',
    { timeout: 300_000 },
    async (source) => {
      expect(await slowPatternsOf(source)).toEqual([])
    },
  )

  it('are literals', () => {
    const others = sources.filter(({ path }) => !buildsFromConstants.has(path))
    expect(others.flatMap(builtPatternsOf)).toEqual([])
  })

  it.each([
    ['a polynomial one', 'const a = /^a:[ \\t]*([\\t -~]*?)[ \\t]*$/'],
    ['an exponential one', 'const a = /^(a+)+$/'],
  ])('the rule finds %s', async (_name, text) => {
    expect(await slowPatternsOf(parseSource('example.ts', text))).toHaveLength(1)
  })

  it('the rule finds a built one', () => {
    expect(builtPatternsOf(parseSource('example.ts', 'const a = new RegExp(b)'))).toEqual(['example.ts:1'])
  })
})
