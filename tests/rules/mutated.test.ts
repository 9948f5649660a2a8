/** Every file that decides about safety is mutated by `npm run mutate`, or waits for its tests in a list that only gets shorter. */
import { describe, expect, it } from 'vitest'
import { entryOf, hasCode, problemsOf, sourcesWithCode, undecided } from '../mutation/coverage.ts'
import { decides } from '../mutation/decides.ts'
import { groups, sourcesOf } from '../mutation/files.ts'
import { mutated, notMutated } from '../mutation/folders.ts'
import { later, laterCount } from '../mutation/later.ts'
import { parseSource } from './sources.ts'

const covered = new Set(groups.flatMap(sourcesOf))
const gate = 'apps/runtime/src/services/gateway/gate.ts'
const page = 'apps/console/src/page.ts'

describe('the files that are mutated', () => {
  const sources = sourcesWithCode()
  const withCode = new Set(sources)
  const withoutRule = new Set(undecided())

  it('are those of tests/mutation/folders.ts, without those that wait', () => {
    const isCovered = new Set([...covered].filter((file) => withCode.has(file)))
    expect(problemsOf({ sources, covered: isCovered, later, undecided: withoutRule })).toEqual([])
  })

  it('become more: the list of those that wait has its count, and each file once', () => {
    const more = `${later.length} files wait, and ${laterCount} may: write tests for a new file, and put it in tests/mutation/files.ts`
    expect(later.length, more).toBeLessThanOrEqual(laterCount)
    expect(laterCount, 'lower the count in tests/mutation/later.ts').toBe(later.length)
    expect(new Set(later).size).toBe(later.length)
  })

  it('have an entry that leads to a file, once', () => {
    const used = new Set(sources.map(entryOf))
    const entries = [...Object.keys(mutated), ...Object.keys(notMutated)]
    expect(entries.filter((entry) => !used.has(entry))).toEqual([])
    expect(entries.filter((entry, at) => entries.indexOf(entry) !== at)).toEqual([])
  })

  it('are mutated in one group', () => {
    const all = groups.flatMap(sourcesOf)
    expect(all.filter((file, at) => all.indexOf(file) !== at)).toEqual([])
    expect(groups.filter((group) => sourcesOf(group).length === 0).map(({ name }) => name)).toEqual([])
  })
})

describe('a file', () => {
  const problems = (
    file: string,
    covered: string[] = [],
    waiting: string[] = [],
    undecided = new Set<string>(),
  ) =>
    problemsOf({ sources: [file], covered: new Set(covered), later: waiting, undecided }).map(
      (each) => each.split(': ')[1],
    )

  it('in no folder of the list is found', () => {
    expect(problems('apps/new/src/a.ts')).toEqual(['add its folder to tests/mutation/folders.ts'])
  })

  it('that decides and is not mutated is found', () => {
    expect(problems(gate)).toEqual([expect.stringMatching(/^it admits .*; add it to a group/)])
    expect(problems(gate, [gate])).toEqual([])
    expect(problems(gate, [], [gate])).toEqual([])
  })

  it('in two lists that contradict each other is found', () => {
    expect(problems(gate, [gate], [gate])).toEqual([expect.stringMatching(/remove it from/)])
    expect(problems(page, [page])).toEqual([expect.stringMatching(/say in/)])
    expect(problems(page, [], [page])).toEqual([expect.stringMatching(/need not be mutated/)])
    expect(problems(page)).toEqual([])
  })

  it('that decides nothing needs no group, and does not wait for one', () => {
    const none = new Set([gate])
    expect(problems(gate, [], [], none)).toEqual([])
    expect(problems(gate, [gate], [], none)).toEqual([])
    expect(problems(gate, [], [gate], none)).toEqual([
      expect.stringMatching(/decides nothing; remove it from/),
    ])
  })

  it('that is gone is found among those that wait', () => {
    expect(problems(page, [], ['apps/gone.ts'])).toEqual([expect.stringMatching(/no such file/)])
  })

  it('belongs to the entry with the longest path', () => {
    expect(entryOf('apps/cli/src/output/clean.ts')).toBe('apps/cli/src/output/clean.ts')
    expect(entryOf('apps/cli/src/output/paint.ts')).toBe('apps/cli/src/output')
    expect(entryOf('apps/cli/src/outputs.ts')).toBe('apps/cli/src')
  })

  it.each([
    ["export * from './a.ts'\nexport { b } from './b.ts'\nimport c from 'c'", false],
    ['export interface A { a: 1 }\ntype B = A', false],
    ['export const a = 1', true],
    ['run()', true],
    ['export default 1', true],
  ])('with %j has code: %s', (text, expected) => {
    expect(hasCode(parseSource('a.ts', text))).toBe(expected)
  })

  it.each([
    'export const limits = { bytes: 64 * 1024, wait: -1 }',
    'export class Broken extends Error {}',
    'export const join = ({ a, b }: Parts): Joined => ({ ...make(a), run: () => b.begin(a, a + 1) })',
    "export type Kind = 'a' extends string ? 'b' : 'c'\nexport const kind = 'a' as Kind",
    'export async function run(server: Server) {\n  await server.listen()\n  server.port = 1\n}',
    'for_(each)',
  ])('with %j decides nothing', (text) => expect(decides(parseSource('a.ts', text))).toBe(false))

  it.each([
    'if (a) b()',
    'export const a = b ? c : d',
    'a ?? b',
    'a?.b',
    'const { a = 1 } = b',
    'export const f = (a = 1) => a',
    'switch (a) {}',
    'throw a',
    'try { a() } catch {}',
    'for (const a of b) a()',
    'for (const a in b) a()',
    'for (;;) a()',
    'while (a()) b()',
    'do a()\nwhile (b())',
    'a < b',
    'a === b',
    '!a',
    'a & ~b',
    'a ||= b',
    'a instanceof B',
    '/a/',
    "['10.0.0.0/8']",
    'a.filter(b)',
    'Math.min(a, b)',
    'Promise.reject(a)',
    'setTimeout(a, 1)',
    'withoutControls(a)',
    'isOwn(a)',
    'z.string()',
    'z.strictObject({ a: b }).optional()',
    'class A { b() { return c.d((e) => e as f !== g) } }',
  ])('with %j decides', (text) => expect(decides(parseSource('a.ts', text))).toBe(true))
})
