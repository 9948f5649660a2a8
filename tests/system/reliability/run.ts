/** `npm run reliability <experiment> [rounds [seconds,…]]`: the experiments of docs/reliability.md, each with all its rounds. Exit code 1 where one fails. */
import { join } from 'node:path'
import { temporaryFolder } from '../../harness/processes.ts'
import { startServices } from '../../harness/services.ts'
import { damageable, damageFiles, makeStates } from './bitflips.ts'
import { type Faulty, faulty, meetFaults, type Occasion, occasions } from './faults/experiment.ts'
import { killUnderLoad } from './kills.ts'
import { counters, countThroughRedeploys } from './redeploys.ts'
import { measureUpgradeGap } from './upgrade-gap.ts'
import { killUpgrades } from './upgrade-kills.ts'

/** Seconds for which something is frozen, by turns: of the kills only. */
const [, , name = '', count, seconds = '30'] = process.argv
/** Another one for each run: SELVEDGE_TEST_SEED repeats a run. */
const seed = Number(process.env.SELVEDGE_TEST_SEED ?? Date.now() % 1_000_000)

interface Experiment {
  readonly rounds: number
  /** @returns what was lost or failed, in words; nothing where all is well */
  run(rounds: number, say: (text: string) => void): Promise<readonly string[]>
}

const experiments: Record<string, Experiment> = {
  redeploys: {
    rounds: 200,
    async run(rounds, say) {
      const services = await startServices()
      const failures: string[] = []
      for (const kind of Object.keys(counters) as (keyof typeof counters)[]) {
        const counted = await countThroughRedeploys(services, kind, rounds)
        say(`${rounds} redeploys of a counter (${kind}): ${JSON.stringify(counted)}`)
        if (counted.lost > 0 || counted.repeated > 0 || Object.keys(counted.refused).length > 0)
          failures.push(`${kind}: ${JSON.stringify(counted)}`)
      }
      await services.stop()
      return failures
    },
  },
}

experiments.kills = {
  rounds: 300,
  async run(rounds, say) {
    const killed = await killUnderLoad({
      rounds,
      freezesMs: seconds.split(',').map((each) => 1000 * Number(each)),
      spread: 300,
      seed,
      say,
    })
    const { acknowledged, refused } = killed
    say(
      `${rounds} rounds: ${JSON.stringify(killed.rounds)}; ${acknowledged} acknowledged, ${refused} refused`,
    )
    return killed.failures
  },
}

experiments['upgrade-kills'] = {
  rounds: 300,
  async run(rounds, say) {
    const { failures, ...counted } = await killUpgrades(rounds, say, seed)
    say(JSON.stringify(counted))
    return failures
  },
}

experiments['upgrade-gap'] = {
  rounds: 20,
  async run(rounds, say) {
    const noticed = await measureUpgradeGap(rounds, say)
    for (const [name, { gapsMs, wrong, ...counts }] of Object.entries(noticed)) {
      const [median, longest] = [gapsMs.toSorted((a, b) => a - b)[gapsMs.length >> 1]!, Math.max(...gapsMs)]
      say(
        `${name}: gap ${Math.round(median)} ms (median), ${Math.round(longest)} ms (longest) of ${gapsMs.length} upgrades; ${JSON.stringify(counts)}, wrong ${wrong.length}`,
      )
    }
    return Object.values(noticed).flatMap(({ wrong }) => wrong)
  },
}

const names: Readonly<Record<Occasion, string>> = {
  work: 'faults',
  start: 'start-faults',
  log: 'log-faults',
  'full disk': 'full-disk',
}
for (const daemon of faulty)
  for (const occasion of occasions) experiments[`${names[occasion]}-${daemon}`] = faultsOf(daemon, occasion)

function faultsOf(daemon: Faulty, occasion: Occasion): Experiment {
  return {
    rounds: Number.POSITIVE_INFINITY,
    async run(rounds, say) {
      const isAll = rounds === Number.POSITIVE_INFINITY
      const outcome = await meetFaults(
        daemon,
        { rounds: isAll ? 'all' : rounds, slowMs: 5000, lanes: 4, occasion },
        say,
      )
      const { hits, logHits, refusals } = outcome
      say(
        `${daemon}: ${outcome.rounds} rounds, ${hits} with a fault, ${logHits} with one of the log; refusals: ${JSON.stringify(refusals)}`,
      )
      return outcome.failures
    },
  }
}

for (const daemon of damageable)
  experiments[`bitflips-${daemon}`] = {
    rounds: 1000,
    async run(rounds, say) {
      const folder = await temporaryFolder()
      const states = join(folder.path, 'states')
      await makeStates(states)
      const { outcomes, failures } = await damageFiles(daemon, states, rounds)
      await folder.remove()
      say(`${daemon}: ${rounds} damaged states: ${JSON.stringify(outcomes)}`)
      return failures
    },
  }

const experiment = experiments[name]
const rounds = Number(count ?? experiment?.rounds)
if (!experiment || !(rounds > 0)) {
  process.stderr.write(
    `error: say which experiment: ${Object.keys(experiments).join(', ')}, and how many rounds, where not all of them\n`,
  )
  process.exit(2)
}
process.stdout.write(`seed ${seed}\n`)
const failures = await experiment.run(rounds, (text) => process.stdout.write(`${text}\n`))
for (const each of failures) process.stdout.write(`FAILED ${each}\n`)
process.exit(failures.length > 0 ? 1 : 0)
