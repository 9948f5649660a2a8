/** No request follows a redirect by itself: it would bring what it carries to wherever another server wants it. */
import { expect, it } from 'vitest'
import { nodesOf, parseSource, placeOf, readSources, type Source, type SyntaxNode } from './sources.ts'

/** Calls of `fetch` with options that do not say what to do with a redirect; a spread may say it. */
const unsaid = (source: Source): string[] =>
  [...nodesOf(source.program)].flatMap(({ node }) => {
    const {
      type,
      callee,
      arguments: args,
    } = node as SyntaxNode & { callee?: SyntaxNode; arguments?: SyntaxNode[] }
    const name = callee?.type === 'MemberExpression' ? (callee.property as SyntaxNode).name : callee?.name
    if (type !== 'CallExpression' || args?.length === 0 || !/^fetch$/.test(String(name))) return []
    const options = args?.[1]
    if (options !== undefined && options.type !== 'ObjectExpression') return []
    const properties = (options?.properties ?? []) as { type: string; key?: { name?: string } }[]
    const says = properties.some((each) => each.key?.name === 'redirect')
    return says ? [] : [placeOf(source, node)]
  })

/** Files whose `fetch` is a function of their own, and where its redirects are tested. */
const exceptions: Readonly<Record<string, string>> = {
  'apps/runtime/src/services/engines/function/platform/http-request.ts':
    'tests/system/attacks/functions.test.ts',
  'apps/runtime/src/services/images/registry/registry.ts':
    'apps/runtime/src/services/images/registry/registry.test.ts',
}

it('every fetch says that it follows no redirect', () => {
  const sources = readSources('packages', 'apps').filter(({ path }) => !Object.hasOwn(exceptions, path))
  expect(sources.flatMap(unsaid)).toEqual([])
})

it.each([
  ['fetch(url)', 1],
  [`fetch(url, { method: 'GET' })`, 1],
  [`globalThis.fetch(url, { method: 'GET' })`, 1],
  [`fetch(url, { method: 'GET', redirect: 'error' })`, 0],
  ['fetch(url, init)', 0],
])('the rule sees %s', (code, findings) => {
  expect(unsaid(parseSource('example.ts', code))).toHaveLength(findings)
})
