/**
 * `npm run mutate [-- file …]`: mutates the files of `files.ts`, runs the tests of their group against each mutant, and prints
 * those that no test noticed. A file is named by a part of its path. Results of unchanged files and tests are stored in
 * `.cache/mutation`. Exit code 1 if a file is below 90 %, or an entry of `equivalents/` is stale.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { LogLevel } from '@stryker-mutator/api/core'
import { Stryker } from '@stryker-mutator/core'
import { root } from '../harness/processes.ts'
import { equivalents } from './equivalents/index.ts'
import { type Group, groups, sourcesOf } from './files.ts'
import {
  type FileResult,
  isUnnoticed,
  type Mutant,
  percentOf,
  type Score,
  scoreOf,
  wasSlow,
} from './score.ts'
import { tableOf, updateTable } from './table.ts'

/** Percentage of the mutants that are not equivalent. */
const target = 90

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Runs at once, 1 or 2. */
    concurrency: { type: 'string', default: '2' },
    /** Ignores the stored results of the files. Needed after a change of something that neither file nor tests name. */
    force: { type: 'boolean', default: false },
    /** Writes the rows of the files to docs/tests.md. */
    write: { type: 'boolean', default: false },
  },
})
const concurrency = Number(values.concurrency)
if (concurrency !== 1 && concurrency !== 2) fail(`--concurrency ${values.concurrency} is not 1 or 2`)

function fail(message: string): never {
  process.stderr.write(`error: ${message}\n`)
  process.exit(2)
}

const isAsked = (file: string): boolean =>
  positionals.length === 0 || positionals.some((part) => file.includes(part))

/** Databases of tests are in memory there, where a sync costs nothing. Tests that a mutant ends leave files. */
const temporary = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'selvedge-mutate-'))
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }))
process.env.TMPDIR = temporary

const memory = join(root, '.cache/mutation')
const reportOf = ({ name }: Group): string => join(memory, `${name}.json`)

interface Run {
  readonly force?: boolean
  /** All tests of the group run against a mutant, not only those that execute it. */
  readonly withAllTests?: boolean
}

/** Mutates some files of a group. @returns the report by file */
async function mutate(group: Group, files: readonly string[], run: Run = {}): Promise<Report> {
  const report = reportOf(group)
  process.env.SELVEDGE_MUTATION_TESTS = JSON.stringify(group.tests)
  process.env.SELVEDGE_MUTATION_ALL = run.withAllTests ? '1' : ''
  await new Stryker({
    mutate: [...files],
    testRunner: 'vitest',
    vitest: { configFile: 'tests/mutation/vitest.config.ts', related: false },
    plugins: ['@stryker-mutator/vitest-runner', join(import.meta.dirname, 'wording.ts')],
    ignorers: ['wording'],
    ignorePatterns: ['dist', '.cache', '.selvedge', 'bench', 'docs'],
    tempDirName: '.cache/mutation/sandboxes',
    incremental: true,
    incrementalFile: report,
    force: run.force ?? false,
    concurrency,
    // Stryker rewrites tsconfig.json with TypeScript's former API. Nothing here reads it.
    tsconfigFile: 'none',
    // A mutant that loops without end costs this time, twice, and ten times what its tests need without a mutant.
    timeoutMS: 5_000,
    timeoutFactor: 10,
    // A mutant of a constant runs all tests of its group; they are few.
    warnings: { slow: false, unknownOptions: true, preprocessorErrors: true, unserializableOptions: true },
    reporters: ['progress-append-only'],
    logLevel: 'warn' as LogLevel,
    allowConsoleColors: false,
  }).runMutationTest()
  return JSON.parse(readFileSync(report, 'utf8')) as Report
}

interface Report {
  readonly files: Readonly<Record<string, { source: string; mutants: Mutant[] }>>
}

const storedReport = (group: Group): Report =>
  existsSync(reportOf(group)) ? (JSON.parse(readFileSync(reportOf(group), 'utf8')) as Report) : { files: {} }

/** Removes stored results, so that the next run tries these mutants again. */
function forget(group: Group, isForgotten: (mutant: Mutant) => boolean): void {
  const report = reportOf(group)
  if (!existsSync(report)) return
  const results = storedReport(group)
  for (const file of Object.values(results.files))
    file.mutants = file.mutants.filter((mutant) => !isForgotten(mutant))
  writeFileSync(report, JSON.stringify(results))
}

/** Survivors of which Stryker chose the tests, each as a text. */
const survivorsOf = ({ files }: Report): Set<string> =>
  new Set(
    Object.entries(files).flatMap(([file, { mutants }]) =>
      mutants
        .filter((mutant) => mutant.status === 'Survived' && !mutant.static)
        .map((mutant) => keyOf(file, mutant)),
    ),
  )

const keyOf = (file: string, { location, replacement }: Mutant): string =>
  JSON.stringify([file, location, replacement])

/** Mutates, and runs mutants a second time: those that reached a time limit, and new survivors, against all tests of the group. */
async function mutateTwice(group: Group, files: readonly string[]): Promise<[string, FileResult][]> {
  const known = values.force ? new Set<string>() : survivorsOf(storedReport(group))
  // Stryker does not know which tests cover a constant, and so which new test may notice its mutants. In a file that no test
  // loaded, it does not even know what is a constant.
  forget(group, (mutant) => isUnnoticed(mutant) && (mutant.static === true || mutant.status === 'NoCoverage'))
  let results = await mutate(group, files, { force: values.force })
  const slow = files.flatMap((file) => results.files[file]?.mutants.filter(wasSlow) ?? [])
  if (slow.length > 0) {
    process.stdout.write(`${slow.length} mutants reached a time limit and run again\n`)
    forget(group, wasSlow)
    results = await mutate(group, files)
  }
  // What a module does once, for the first test that needs it, decides in all tests that follow.
  const survivors = new Set([...survivorsOf(results)].filter((each) => !known.has(each)))
  if (survivors.size > 0) {
    process.stdout.write(`${survivors.size} mutants survived and run again, against all tests of the group\n`)
    for (const file of files)
      forget(group, (mutant) => mutant.status === 'Survived' && survivors.has(keyOf(file, mutant)))
    results = await mutate(group, files, { withAllTests: true })
  }
  return files.flatMap((file) => (results.files[file] ? [[file, results.files[file]]] : []))
}

mkdirSync(memory, { recursive: true })
const begunAt = performance.now()
const scores: Score[] = []
for (const group of groups) {
  const files = sourcesOf(group).filter(isAsked)
  if (files.length === 0) continue
  process.stdout.write(`${group.name}: ${files.length} files\n`)
  for (const [file, result] of await mutateTwice(group, files))
    scores.push(scoreOf(file, result, equivalents))
}
if (scores.length === 0) fail(`no file of tests/mutation/files.ts contains ${positionals.join(' or ')}`)

for (const { file, survivors, stale } of scores) {
  for (const { at, line, change } of survivors)
    process.stdout.write(`survived: ${file}:${at}\n  line: ${line}\n  change: ${change}\n`)
  for (const { line, change } of stale)
    process.stdout.write(`not among the survivors: ${file}\n  line: ${line}\n  change: ${change}\n`)
}
const shown = scores.filter(({ mutants }) => mutants > 0)
process.stdout.write(`${tableOf(shown)}\n${Math.round((performance.now() - begunAt) / 1000)} seconds\n`)
if (values.write) {
  const path = join(root, 'docs/tests.md')
  writeFileSync(path, updateTable(readFileSync(path, 'utf8'), shown, new Set(groups.flatMap(sourcesOf))))
}
const low = scores.filter((score) => percentOf(score) < target).map(({ file }) => file)
if (low.length > 0) process.stdout.write(`below ${target} %: ${low.join(', ')}\n`)
process.exitCode = low.length > 0 || scores.some(({ stale }) => stale.length > 0) ? 1 : 0
