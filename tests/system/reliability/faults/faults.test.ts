/** `npm run reliability faults-<daemon>` and its like make every round; these are some of each kind. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../harness/installed.ts'
import { type FaultyDaemons, faulty, openFaulty } from './experiment.ts'
import type { FaultKind } from './faults.ts'

/** All kinds, spread over the daemons; each has two that the log can meet. */
const kindsOf: Readonly<Record<(typeof faulty)[number], readonly FaultKind[]>> = {
  runtime: ['EIO', 'short write'],
  identity: ['ENOSPC', 'slow write'],
  discovery: ['EMFILE', 'ENOSPC', 'EIO'],
}

describe('a daemon', needs('gcc'), () => {
  let daemons: FaultyDaemons
  beforeAll(async () => {
    daemons = await openFaulty({ slowMs: 300 })
  })
  afterAll(() => daemons?.stop())

  describe.each(faulty)('the %s', (name) => {
    const kinds = kindsOf[name]

    it('acknowledges nothing that is lost, goes on, names the cause and recovers when a system call fails', async () => {
      const outcome = await daemons.meet(name, { occasion: 'work', rounds: 1, kinds })
      console.info(`faults of the ${name}:`, outcome)
      expect(outcome.failures).toEqual([])
      expect(outcome.hits).toBeGreaterThan(outcome.rounds / 2)
    })

    it('that meets a fault while it starts ends as one that may be started again, and has everything then', async () => {
      const outcome = await daemons.meet(name, { occasion: 'start', rounds: 1, kinds })
      console.info(`faults while the ${name} starts:`, outcome)
      expect(outcome.failures).toEqual([])
      expect(outcome.hits).toBeGreaterThan(outcome.rounds / 2)
    })

    it('goes on when its log cannot be written, writes whole lines, and says later that some are missing', async () => {
      const outcome = await daemons.meet(name, { occasion: 'log', rounds: 1, kinds })
      console.info(`faults of the log of the ${name}:`, outcome)
      expect(outcome.failures).toEqual([])
      expect(outcome.logHits).toBeGreaterThan(outcome.rounds / 2)
    })

    it('goes on and recovers when the disk of its state and its log is full for a while', async () => {
      const outcome = await daemons.meet(name, { occasion: 'full disk', rounds: 1 })
      console.info(`a full disk of the ${name}:`, outcome)
      expect(outcome.failures).toEqual([])
      expect(outcome.hits).toBe(outcome.rounds)
    })
  })
})
