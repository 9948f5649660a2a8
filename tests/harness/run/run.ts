/**
 * Runs tests in Vitest. A file that fails is run once more, alone: if it passes then, a line names it, and the run continues.
 *
 * Arguments: `--kinds=unit,integration` names the kinds of tests; all others are for Vitest. Words, which it searches in the paths of
 * the files, are searched in all kinds. `--related [<commit>]` runs what the changes since a commit reach by imports, in all kinds.
 * `--skipped-in=<outcomes>` runs the tests that an earlier run skipped, because a program or a right was missing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seed } from '../seed.ts'
import {
  countsOf,
  describeCounts,
  isGood,
  joinOutcomes,
  maxUnstable,
  type Outcomes,
  readOutcomes,
} from './outcomes.ts'

const vitest = join(process.cwd(), 'node_modules/vitest/vitest.mjs')
const say = (text: string): void => void process.stdout.write(`${text}\n`)

const args = process.argv.slice(2)
const take = (name: string): string | undefined => {
  const at = args.findIndex((each) => each === name || each.startsWith(`${name}=`))
  return at < 0 ? undefined : args.splice(at, 1)[0]!.slice(name.length + 1)
}
const kinds = take('--kinds')
const isRelated = take('--related') !== undefined
const since = isRelated && args[0]?.startsWith('-') === false ? args.shift()! : 'HEAD'
const earlier = take('--skipped-in')
if (earlier !== undefined) args.push(...skippedIn(readOutcomes(earlier)))
/** Options of the caller that hold for a second attempt, too. */
const settings = args.filter((each) => /^--[\w-]+=/.test(each) && !each.startsWith('--maxWorkers'))
const hasWords = args.some((each) => !each.startsWith('-'))
const chosen = hasWords || isRelated ? [] : (kinds ?? '').split(',').filter(Boolean)
const related = isRelated ? [`--changed=${since}`, '--passWithNoTests'] : []

/** Of this run: outcomes, and what its tests prepare once for all. */
const folder = mkdtempSync(join(tmpdir(), 'selvedge-test-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** @throws where nothing was skipped: without a file, all would run */
function skippedIn({ files }: Outcomes): string[] {
  const skipped = Object.entries(files).filter(([, { missing }]) => Object.keys(missing).length > 0)
  if (skipped.length === 0) throw new Error(`${earlier}: nothing was skipped`)
  const titles = skipped.flatMap(([, { missing }]) => Object.values(missing).flat())
  const pattern = [...new Set(titles)].map((each) => each.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  return [...skipped.map(([path]) => path), `--testNamePattern=^(?:${pattern})$`]
}

/** @returns what Vitest reports, and the code that it exits with; no report if it found no test or could not start */
async function runVitest(more: readonly string[]): Promise<{ outcomes?: Outcomes; code: number }> {
  const path = join(folder, 'outcomes.json')
  rmSync(path, { force: true })
  const child = spawn(process.execPath, [vitest, 'run', ...more], {
    stdio: 'inherit',
    env: { ...process.env, SELVEDGE_TEST_OUTCOMES: path, SELVEDGE_TEST_PREPARED: folder },
  })
  const [code, signal] = await once(child, 'exit')
  const outcomes = existsSync(path) ? { outcomes: readOutcomes(path) } : {}
  return { ...outcomes, code: signal ? 1 : code }
}

/** @returns the outcomes with those of the second attempt of each file that failed, if they are few enough */
async function attemptAgain(first: Outcomes): Promise<Outcomes> {
  const failed = Object.entries(first.files).filter(([, { failed }]) => failed > 0)
  if (first.unhandled > 0 || failed.length > maxUnstable) return first
  let outcomes = first
  for (const [path, { failures }] of failed) {
    say(`\n${path} failed: it is run once more, alone`)
    const { outcomes: second } = await runVitest([path, '--maxWorkers=1', ...settings])
    if (second === undefined) return first
    const isUnstable = countsOf(second).failed === 0
    const more = failures.length > 1 ? ` and ${failures.length - 1} more` : ''
    const line = `unstable: ${path} > ${failures[0]}${more}, seed ${seed}`
    outcomes = joinOutcomes(outcomes, { ...second, unstable: isUnstable ? [line] : [] })
  }
  return outcomes
}

const first = await runVitest([...chosen.map((each) => `--project=${each}`), ...related, ...args])
// A second attempt makes up for failed tests only, not for a run without tests, or one that Vitest failed for another reason.
const hasFailed = first.outcomes !== undefined && countsOf(first.outcomes).failed > 0
if (first.outcomes === undefined || !hasFailed || args.includes('--bail')) process.exitCode = first.code
else {
  const outcomes = await attemptAgain(first.outcomes)
  for (const line of outcomes.unstable) say(line)
  if (!isGood(outcomes)) say(`\nThe random values of the tests came from SELVEDGE_TEST_SEED=${seed}.`)
  say(`\n${describeCounts(countsOf(outcomes))}`)
  process.exitCode = isGood(outcomes) ? 0 : first.code
  first.outcomes = outcomes
}
const out = process.env.SELVEDGE_TEST_OUTCOMES
if (out !== undefined && first.outcomes !== undefined)
  writeFileSync(out, JSON.stringify({ ...first.outcomes, isRest: earlier !== undefined }))
