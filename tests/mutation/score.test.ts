import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../harness/processes.ts'
import { equivalents } from './equivalents/index.ts'
import { type Mutant, percentOf, scoreOf, wasSlow } from './score.ts'
import { formatTable, updateTable } from './table.ts'

const source = 'const limit = 3\nif (size > limit) refuse()\n'
const mutant = (status: string, replacement = 'size >= limit'): Mutant => ({
  location: { start: { line: 2, column: 5 }, end: { line: 2, column: 17 } },
  replacement,
  status,
})
const known = {
  file: 'a.ts',
  line: 'if (size > limit) refuse()',
  change: 'size > limit → size >= limit',
  reason: 'the size is odd',
}

describe('the score of a file', () => {
  test('names a survivor by its line, what was there and what replaced it', () => {
    const { survivors } = scoreOf('a.ts', { source, mutants: [mutant('Survived')] }, [])
    const { file, line, change } = known
    expect(survivors).toEqual([{ file, line, change, at: 2 }])
  })

  test('is the share of noticed mutants among those that can be noticed', () => {
    const mutants = [
      mutant('Killed'),
      mutant('RuntimeError'),
      mutant('NoCoverage', 'true'),
      mutant('Survived'),
    ]
    const score = scoreOf('a.ts', { source, mutants: [...mutants, mutant('Ignored')] }, [known])
    expect(score).toMatchObject({ mutants: 4, killed: 2, equivalent: 1, survivors: [{ at: 2 }], stale: [] })
    expect(percentOf(score)).toBe(66)
  })

  test('reports an equivalent mutant that a test kills', () => {
    expect(scoreOf('a.ts', { source, mutants: [mutant('Killed')] }, [known]).stale).toEqual([known])
    // A busy machine reaches a time limit, too.
    expect(scoreOf('a.ts', { source, mutants: [mutant('Timeout')] }, [known]).stale).toEqual([])
  })
})

describe('a mutant is tried a second time', () => {
  test.each([
    ['after the time limit of its whole run', { ...mutant('Timeout') }, true],
    [
      'after the time limit of a test',
      { ...mutant('Killed'), statusReason: 'Test timed out in 20000ms.' },
      true,
    ],
    [
      'not after an endless loop',
      { ...mutant('Timeout'), statusReason: 'Hit limit reached (501/500)' },
      false,
    ],
    ['not after a failed test', { ...mutant('Killed'), statusReason: 'expected 1 to be 2' }, false],
  ])('%s', (_, each, expected) => {
    expect(wasSlow(each)).toBe(expected)
  })
})

test('the table of a document gets the rows of a run, keeps others, and loses those of files that are not covered', () => {
  const rows = ['`a.ts`', '`b.ts`', '`gone.ts`'].map((file) => [file, '9', '9', '0', '0', '100 %'])
  const document = ['# Tests', ...formatTable(rows), '', 'End'].join('\n')
  const score = scoreOf('b.ts', { source, mutants: [mutant('Survived')] }, [])
  expect(updateTable(document, [score], new Set(['a.ts', 'b.ts'])).split('\n')).toEqual([
    '# Tests',
    '| File   | Mutants | Killed | Equivalent | Survivors | Score |',
    '| ------ | ------: | -----: | ---------: | --------: | ----: |',
    '| `a.ts` |       9 |      9 |          0 |         0 | 100 % |',
    '| `b.ts` |       1 |      0 |          0 |         1 |   0 % |',
    '',
    'End',
  ])
})

test('every equivalent mutant is in a line of its file', () => {
  const missing = equivalents.filter(
    ({ file, line }) =>
      !readFileSync(join(root, file), 'utf8')
        .split('\n')
        .some((each) => each.trim() === line),
  )
  expect(missing).toEqual([])
})
