/** `npm run reliability faults` makes every round; these are some of each kind. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../harness/installed.ts'
import { type FaultyDaemon, faulty, openFaulty } from './experiment.ts'

describe.each(faulty)('the %s', needs('gcc'), (name) => {
  let daemon: FaultyDaemon
  beforeAll(async () => {
    daemon = await openFaulty(name, { slowMs: 300 })
  })
  afterAll(() => daemon?.stop())

  it('acknowledges nothing that is lost, goes on, names the cause and recovers when a system call fails', async () => {
    const outcome = await daemon.meet({ occasion: 'work', rounds: 1 })
    console.info(`faults of the ${name}:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.hits).toBeGreaterThan(outcome.rounds / 2)
  })

  it('that meets a fault while it starts ends as one that may be started again, and has everything then', async () => {
    const outcome = await daemon.meet({ occasion: 'start', rounds: 1 })
    console.info(`faults while the ${name} starts:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.hits).toBeGreaterThan(outcome.rounds / 2)
  })

  it('goes on when its log cannot be written, writes whole lines, and says later that some are missing', async () => {
    const outcome = await daemon.meet({ occasion: 'log', rounds: 1 })
    console.info(`faults of the log of the ${name}:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.logHits).toBeGreaterThan(outcome.rounds / 2)
  })

  it('goes on and recovers when the disk of its state and its log is full for a while', async () => {
    const outcome = await daemon.meet({ occasion: 'full disk', rounds: 1 })
    console.info(`a full disk of the ${name}:`, outcome)
    expect(outcome.failures).toEqual([])
    expect(outcome.hits).toBe(outcome.rounds)
  })
})
