/**
 * The end of CI: a table of its parts with their tests, seconds and budgets, the ten slowest files and those with the most CPU time, what was
 * unstable, and the counts of everything as the last line. Argument: a folder with a file `<number>-<name>.json` of outcomes and `<number>-<name>.seconds`
 * ("<seconds> <budget>") for each part. Exit code 1 if a test failed or too many files were unstable.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  countsOf,
  describeCounts,
  isGood,
  joinOutcomes,
  noOutcomes,
  type Outcomes,
  readOutcomes,
} from './outcomes.ts'
import { describeSkipped } from './skipped.ts'

const folder = process.argv[2]!
const say = (text: string): void => void process.stdout.write(`${text}\n`)

interface Part {
  readonly name: string
  readonly seconds: number
  readonly budget: number
  readonly outcomes: Outcomes
}

function readPart(file: string): Part {
  const name = file.slice(0, -'.seconds'.length)
  const [seconds, budget] = readFileSync(join(folder, file), 'utf8').split(' ').map(Number)
  const path = join(folder, `${name}.json`)
  const outcomes = existsSync(path) ? readOutcomes(path) : noOutcomes
  return { name: name.replace(/^\d+-/, ''), seconds: seconds!, budget: budget!, outcomes }
}

const parts = readdirSync(folder)
  .filter((each) => each.endsWith('.seconds'))
  .sort()
  .map(readPart)
const all = parts.map(({ outcomes }) => outcomes).reduce(joinOutcomes, noOutcomes)

say('\n| Part | Tests | Seconds | Budget |\n|---|---:|---:|---:|')
for (const { name, seconds, budget, outcomes } of parts) {
  const { passed, failed } = countsOf(outcomes)
  say(`| ${name} | ${passed + failed} | ${seconds}${seconds > budget ? ' (over)' : ''} | ${budget} |`)
}
const files = Object.entries(all.files)
for (const [title, member] of [
  ['The ten slowest files', 'seconds'],
  ['The ten files with the most CPU time', 'cpuSeconds'],
] as const) {
  say(`\n${title}:`)
  const most = files.toSorted(([, one], [, two]) => two[member] - one[member]).slice(0, 10)
  for (const [path, outcome] of most) say(`${outcome[member].toFixed(1).padStart(7)} s  ${path}`)
}
say('')
for (const line of [...describeSkipped(all), ...all.unstable]) say(line)
say(`\n${describeCounts(countsOf(all))}`)
process.exitCode = isGood(all) ? 0 : 1
