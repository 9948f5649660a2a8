/** `tests/unstable.json` names tests that failed and passed at their second attempt: they are repaired or removed within 14 days. */
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import entries from '../unstable.json' with { type: 'json' }

interface Unstable {
  /** Path of the test file. */
  readonly file: string
  /** Title of the test, with those of its suites. */
  readonly test: string
  /** The first day on which it was seen, as in 2026-01-31. */
  readonly seen: string
}

const maxDays = 14
const dayMs = 24 * 60 * 60 * 1000

const problemOf = ({ file, test, seen }: Unstable, now: number): string | undefined => {
  const days = (now - Date.parse(`${seen}T00:00:00Z`)) / dayMs
  if (!existsSync(file)) return `${file} is not there any more: remove its entry`
  if (!(days >= 0)) return `${file} > ${test}: "${seen}" is not the day of today or of before`
  if (days > maxDays)
    return `${file} > ${test}: seen on ${seen}, more than ${maxDays} days ago: repair the test or remove it`
  return undefined
}

it('holds no test that is unstable for more than 14 days', () => {
  const problems = (entries as readonly Unstable[]).map((each) => problemOf(each, Date.now()))
  expect(problems.filter((each) => each !== undefined)).toEqual([])
})

it('finds entries that are too old, of a day to come, or of a file that is gone', () => {
  const entry = { file: 'tests/rules/unstable.test.ts', test: 'x', seen: '2026-03-01' }
  const at = (day: string) => Date.parse(`${day}T12:00:00Z`)
  expect(problemOf(entry, at('2026-03-14'))).toBeUndefined()
  expect(problemOf(entry, at('2026-03-16'))).toMatch(/repair the test/)
  expect(problemOf(entry, at('2026-02-27'))).toMatch(/not the day/)
  expect(problemOf({ ...entry, seen: 'soon' }, at('2026-03-02'))).toMatch(/not the day/)
  expect(problemOf({ ...entry, file: 'gone.test.ts' }, at('2026-03-02'))).toMatch(/not there/)
})
