/** `npm run reliability faults` makes every round; these are some of each kind. */
import { expect, it } from 'vitest'
import { needs } from '../../../harness/installed.ts'
import { faulty, meetFaults } from './experiment.ts'

const options = needs('gcc')

it.each(faulty)(
  'the %s acknowledges nothing that is lost, goes on, names the cause and recovers when a system call fails',
  options,
  async (daemon) => {
    const outcome = await meetFaults(daemon, { occasion: 'work', rounds: 1, slowMs: 300 })
    console.info(`faults of the ${daemon}:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.hits).toBeGreaterThan(outcome.rounds / 2)
  },
)

it.each(faulty)(
  'the %s that meets a fault while it starts ends as one that may be started again, and has everything then',
  options,
  async (daemon) => {
    const outcome = await meetFaults(daemon, { occasion: 'start', rounds: 1, slowMs: 300 })
    console.info(`faults while the ${daemon} starts:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.hits).toBeGreaterThan(outcome.rounds / 2)
  },
)

it.each(faulty)(
  'the %s goes on when its log cannot be written, writes whole lines, and says later that some are missing',
  options,
  async (daemon) => {
    const outcome = await meetFaults(daemon, { occasion: 'log', rounds: 1, slowMs: 300 })
    console.info(`faults of the log of the ${daemon}:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.logHits).toBeGreaterThan(outcome.rounds / 2)
  },
)

it.each(faulty)(
  'the %s goes on and recovers when the disk of its state and its log is full for a while',
  options,
  async (daemon) => {
    const outcome = await meetFaults(daemon, { occasion: 'full disk', rounds: 1, slowMs: 300 })
    console.info(`a full disk of the ${daemon}:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.hits).toBe(outcome.rounds)
  },
)
