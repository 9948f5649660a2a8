/** `npm run reliability <experiment> [rounds [seconds]]`: the experiments of docs/reliability.md, each with all its rounds. Exit code 1 where one fails. */
import { startServices } from '../harness/services.ts'
import { damageable, damageFiles } from './bitflips.ts'
import { type Faulty, faulty, meetFaults } from './faults/experiment.ts'
import { killUnderLoad } from './kills.ts'
import { counters, countThroughRedeploys } from './redeploys.ts'

/** Seconds for which something is frozen: of the kills only. */
const [, , name = '', count, seconds = '30'] = process.argv

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
    const killed = await killUnderLoad({ rounds, freezeMs: 1000 * Number(seconds), say })
    const { acknowledged, refused } = killed
    say(
      `${rounds} rounds: ${JSON.stringify(killed.rounds)}; ${acknowledged} acknowledged, ${refused} refused`,
    )
    return killed.failures
  },
}

for (const daemon of faulty) {
  experiments[`faults-${daemon}`] = faultsOf(daemon, false)
  experiments[`start-faults-${daemon}`] = faultsOf(daemon, true)
}

/** @param atStart whether the faults come while the daemon starts */
function faultsOf(daemon: Faulty, atStart: boolean): Experiment {
  return {
    rounds: Number.POSITIVE_INFINITY,
    async run(rounds, say) {
      const isAll = rounds === Number.POSITIVE_INFINITY
      const outcome = await meetFaults(daemon, { rounds: isAll ? 'all' : rounds, slowMs: 5000, atStart }, say)
      say(
        `${daemon}: ${outcome.rounds} rounds, ${outcome.hits} with a fault; refusals: ${JSON.stringify(outcome.refusals)}`,
      )
      return outcome.failures
    },
  }
}

for (const daemon of damageable)
  experiments[`bitflips-${daemon}`] = {
    rounds: 1000,
    async run(rounds, say) {
      const { outcomes, failures } = await damageFiles(daemon, rounds)
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
const failures = await experiment.run(rounds, (text) => process.stdout.write(`${text}\n`))
for (const each of failures) process.stdout.write(`FAILED ${each}\n`)
process.exit(failures.length > 0 ? 1 : 0)
