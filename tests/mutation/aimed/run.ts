/**
 * `npm run aimed [-- word …]`: applies each change of `changes/` in a copy of the project, runs the tests that it names, and
 * prints whether one of them failed. With words: only changes that have one of them in their file, area or promise. Exit code 1
 * if a change is not noticed, or if a named test fails without it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../harness/processes.ts'
import { applyChange, type Change } from './change.ts'
import { areas } from './changes/index.ts'
import { copyProject } from './copy.ts'
import { runTests } from './run-tests.ts'
import { tableOf, updateTable } from './table.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Writes the table to docs/tests.md. Only for a run of all changes. */
    write: { type: 'boolean', default: false },
  },
})
const isAsked = (area: string, { file, breaks }: Change): boolean =>
  positionals.length === 0 || positionals.some((word) => `${area} ${file} ${breaks}`.includes(word))

const asked = Object.entries(areas).flatMap(([area, changes]) =>
  changes.filter((change) => isAsked(area, change)).map((change) => ({ area, change })),
)
const print = (text: string): boolean => process.stdout.write(`${text}\n`)
const folder = join(root, '.cache/aimed')
const begunAt = performance.now()
copyProject(folder)

/** Test files that fail or do not load without a change. */
function findRedFiles(): string[] {
  const files = [...new Set(asked.flatMap(({ change }) => change.tests))]
  const { failed, broken } = runTests(folder, files)
  return broken === undefined ? [...failed] : [...failed, broken]
}

/** @returns the name of a test that noticed the change, or the reason why no test did */
function tryChange(change: Change): { readonly noticed?: string; readonly reason?: string } {
  const path = join(folder, change.file)
  const source = readFileSync(path, 'utf8')
  writeFileSync(path, applyChange(source, change))
  const { failed, broken } = runTests(folder, change.tests)
  writeFileSync(path, source)
  if (failed[0] !== undefined) return { noticed: failed[0] }
  return { reason: broken ?? 'all tests pass' }
}

const red = asked.length === 0 ? ['no change has one of these words'] : findRedFiles()
for (const each of red) print(`red without a change: ${each}`)
const results: { area: string; isNoticed: boolean }[] = []
for (const { area, change } of red.length > 0 ? [] : asked) {
  const { noticed, reason } = tryChange(change)
  results.push({ area, isNoticed: noticed !== undefined })
  print(`${noticed === undefined ? 'NOT NOTICED' : 'noticed'}: ${area}: ${change.breaks}`)
  print(noticed === undefined ? `  ${change.file}: ${reason}` : `  ${noticed}`)
}
const unnoticed = results.filter(({ isNoticed }) => !isNoticed).length
print(`${tableOf(results)}\n${Math.round((performance.now() - begunAt) / 1000)} seconds`)
if (values.write && positionals.length === 0 && red.length === 0) {
  const path = join(root, 'docs/tests.md')
  writeFileSync(path, updateTable(readFileSync(path, 'utf8'), results))
}
process.exitCode = red.length > 0 || unnoticed > 0 ? 1 : 0
