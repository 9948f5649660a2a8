/** `npm run reliability faults` makes every round; these are some of each kind. */
import { expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { faulty, meetFaults } from './experiment.ts'

it.each(faulty)(
  'the %s acknowledges nothing that is lost, goes on, names the cause and recovers when a system call fails',
  { ...needs('gcc'), timeout: 240_000 },
  async (daemon) => {
    const outcome = await meetFaults(daemon, { rounds: 2, slowMs: 300 })
    console.info(`faults of the ${daemon}:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.hits).toBeGreaterThan(outcome.rounds / 2)
  },
)

it.each(faulty)(
  'the %s that meets a fault while it starts ends as one that may be started again, and has everything then',
  { ...needs('gcc'), timeout: 240_000 },
  async (daemon) => {
    const outcome = await meetFaults(daemon, { rounds: 2, slowMs: 300, atStart: true })
    console.info(`faults while the ${daemon} starts:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.hits).toBeGreaterThan(outcome.rounds / 2)
  },
)
