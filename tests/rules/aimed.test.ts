/** Every aimed change still matches its source, and names tests that exist: `npm run aimed` runs them. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../harness/processes.ts'
import { applyChange, type Change } from '../mutation/aimed/change.ts'
import { areas } from '../mutation/aimed/changes/index.ts'
import { tableOf, updateTable } from '../mutation/aimed/table.ts'

const problemsOf = (change: Change): string[] => {
  const missing = change.tests
    .filter((test) => !test.endsWith('.test.ts') || !existsSync(join(root, test)))
    .map((test) => `${change.file}: there is no test ${test}`)
  if (change.tests.length === 0) missing.push(`${change.file}: the change names no test`)
  if (!existsSync(join(root, change.file))) return [...missing, `there is no file ${change.file}`]
  try {
    applyChange(readFileSync(join(root, change.file), 'utf8'), change)
    return missing
  } catch (cause) {
    return [...missing, (cause as Error).message]
  }
}

describe('aimed changes', () => {
  const all = Object.values(areas).flat()

  it('match their source exactly once, and name tests that exist', () => {
    expect(all.flatMap(problemsOf)).toEqual([])
  })

  it('are at least 60, of different promises', () => {
    expect(new Set(all.map(({ breaks }) => breaks)).size).toBe(all.length)
    expect(all.length).toBeGreaterThanOrEqual(60)
  })

  it('are found to be stale', () => {
    const change = {
      file: 'tests/rules/aimed.test.ts',
      from: 'x',
      to: 'y',
      breaks: 'z',
      tests: ['gone.test.ts'],
    }
    expect(problemsOf(change)).toEqual([
      'tests/rules/aimed.test.ts: there is no test gone.test.ts',
      expect.stringMatching(/contains "x" \d+ times, not once/),
    ])
    expect(problemsOf({ ...change, file: 'gone.ts', tests: [] })).toEqual([
      'gone.ts: the change names no test',
      'there is no file gone.ts',
    ])
    expect(() => applyChange('abc', { ...change, from: 'b', to: 'b' })).toThrow('replaced by itself')
    expect(applyChange('abc', { ...change, from: 'b', to: '$&' })).toBe('a$&c')
  })
})

it('the table of aimed changes is replaced as a whole', () => {
  const results = [
    { area: 'b', isNoticed: true },
    { area: 'a', isNoticed: false },
  ]
  const table = [
    '| Area | Changes | Noticed |',
    '| ---- | ------: | ------: |',
    '| a    |       1 |       0 |',
    '| b    |       1 |       1 |',
    '| all  |       2 |       1 |',
  ].join('\n')
  expect(tableOf(results)).toBe(table)
  expect(updateTable('# T\n\n| Area | x |\n| --- | --- |\n\nEnd\n', results)).toBe(`# T\n\n${table}\n\nEnd\n`)
  expect(() => updateTable('no table', results)).toThrow('has no table')
})
