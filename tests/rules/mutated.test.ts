/** Every file that decides about safety is mutated by `npm run mutate`, or waits for its tests in a list that only gets shorter. */
import { describe, expect, it } from 'vitest'
import { entryOf, hasCode, problemsOf, sourcesWithCode } from '../mutation/coverage.ts'
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

  it('are those of tests/mutation/folders.ts, without those that wait', () => {
    const isCovered = new Set([...covered].filter((file) => withCode.has(file)))
    expect(problemsOf({ sources, covered: isCovered, later })).toEqual([])
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
  const problems = (file: string, covered: string[] = [], waiting: string[] = []) =>
    problemsOf({ sources: [file], covered: new Set(covered), later: waiting }).map(
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
})
