/**
 * `npm run powercut [-- daemons | lives | upgrades | mutants | controls]`: cuts the power in thousands of places of the work of each daemon, and opens
 * what is left. Without a word all of it. Exit code 1 where something was lost, or where a mutant or a control was not seen to lose.
 */
import { createControls } from './controls/index.ts'
import { createDaemons } from './daemons/index.ts'
import { type Extent, explore, type Findings } from './explore.ts'
import { killedAt, killsOf } from './lives.ts'
import { findMutant } from './mutants/find.ts'
import { mutants } from './mutants/mutants.ts'
import type { Work } from './subject.ts'
import { createUpgrades } from './upgrades/upgrades.ts'

const seed = 20_261_122
const whole: Extent = { states: 26_000, starts: 260, byChance: 60, seed }
/** So many states and starts the whole run is to have at least. */
const least = { states: 10_000, starts: 300 }

const say = (text: string) => process.stdout.write(`${text}\n`)
const failures: string[] = []

function show(name: string, { states, starts, moments, acknowledged, problems }: Findings): void {
  const lost = problems.reduce((sum, { count }) => sum + count, 0)
  say(`| ${name} | ${acknowledged} | ${moments} | ${states} | ${starts} | ${lost} |`)
}

async function runDaemons(only: string | undefined): Promise<void> {
  say('| Daemon | Acknowledged | Cuts | States | Whole starts | Violations |')
  say('| --- | --- | --- | --- | --- | --- |')
  let starts = 0
  for (const [name, subject] of Object.entries(createDaemons(10))) {
    if (only !== undefined && only !== name) continue
    const found = await explore(subject, await subject.record(), whole)
    show(name, found)
    starts += found.starts
    if (found.states < least.states) failures.push(`${name}: only ${found.states} states`)
    note(name, found)
  }
  if (only === undefined && starts < least.starts) failures.push(`only ${starts} whole starts`)
}

const note = (name: string, { problems }: Findings): void => {
  for (const { model, moment, how, what, count } of problems)
    failures.push(`${name}, ${model}, at ${moment}, ${how}: ${what} (${count} states)`)
}

/** Every kill right before the sync of a folder, in the work of one round. */
async function runLives(only: string | undefined): Promise<void> {
  say('| Killed before the sync | Acknowledged | Cuts | States | Whole starts | Violations |')
  say('| --- | --- | --- | --- | --- | --- |')
  for (const [name, subject] of Object.entries(createDaemons(1))) {
    if (only !== undefined && only !== name) continue
    const first = await subject.record()
    for (const position of killsOf(first).filter((at) => at < startOf(first))) {
      const work = await subject.record({ earlier: killedAt(first, position) })
      const found = await explore(subject, work, { ...whole, states: 1500, starts: 3, byChance: 6 })
      show(`${name}, ${position}`, found)
      note(`${name}, killed at ${position}`, found)
    }
  }
}

/** Position of the first acknowledged step: until then the daemon makes its files. Later work can't be done twice. */
const startOf = ({ recording, steps }: Work): number =>
  recording.operations.findIndex(({ at }) => at >= (steps[0]?.answered ?? Infinity))

async function runUpgrades(): Promise<void> {
  say('| Installation | Acknowledged | Cuts | States | Whole starts | Violations |')
  say('| --- | --- | --- | --- | --- | --- |')
  const subject = createUpgrades(6)
  const found = await explore(subject, await subject.record(), { ...whole, starts: 0 })
  show(subject.name, found)
  if (found.states < least.states) failures.push(`upgrades: only ${found.states} states`)
  note('upgrades', found)
}

async function runMutants(only: string | undefined): Promise<void> {
  say('| Mutant | Daemon | States until it is seen | First state that shows it |')
  say('| --- | --- | --- | --- |')
  for (const mutant of mutants) {
    if (only !== undefined && !mutant.name.includes(only)) continue
    const { problem, states } = await findMutant(mutant, seed)
    const first = problem ? `${problem.model}: ${problem.how}: ${problem.what}` : 'none'
    say(`| ${mutant.name} | ${mutant.app} | ${states} | ${first} |`)
    if (!problem) failures.push(`${mutant.app}: "${mutant.name}" was not seen`)
  }
}

async function runControls(only: string | undefined): Promise<void> {
  say('| Program | Acknowledged | Cuts | States | Strict POSIX | Ordered as ext4 |')
  say('| --- | --- | --- | --- | --- | --- |')
  for (const { subject, loses, states } of createControls(30)) {
    if (only !== undefined && !subject.name.includes(only)) continue
    const found = await explore(subject, await subject.record(), { states, starts: 0, byChance: 6, seed })
    const lost = (['strict', 'ordered'] as const).map((model) => {
      const isLost = found.problems.some((each) => each.model === model)
      if (isLost !== loses.includes(model))
        failures.push(`${subject.name}: ${isLost ? 'loses' : 'does not lose'} on the disk "${model}"`)
      return isLost ? 'loses' : 'loses nothing'
    })
    say(
      `| ${subject.name} | ${found.acknowledged} | ${found.moments} | ${found.states} | ${lost.join(' | ')} |`,
    )
  }
}

const runs: Readonly<Record<string, (only: string | undefined) => Promise<void>>> = {
  daemons: runDaemons,
  lives: runLives,
  upgrades: runUpgrades,
  mutants: runMutants,
  controls: runControls,
}
const [, , chosen, only] = process.argv
if (chosen !== undefined && !runs[chosen]) {
  process.stderr.write(`error: ${JSON.stringify(chosen)} is none of ${Object.keys(runs).join(', ')}\n`)
  process.exit(2)
}
for (const [name, run] of Object.entries(runs)) if (chosen === undefined || chosen === name) await run(only)
for (const failure of failures) say(`FAILED ${failure}`)
process.exit(failures.length > 0 ? 1 : 0)
