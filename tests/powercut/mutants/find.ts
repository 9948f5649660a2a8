import { createDaemons } from '../daemons/index.ts'
import { explore, type Problem } from '../explore.ts'
import { buildMutant } from './build.ts'
import type { Mutant } from './mutants.ts'

export interface Sight {
  /** The first state that shows the mutant; undefined: it was not seen. */
  readonly problem: Problem | undefined
  /** Different states that were opened until then. */
  readonly states: number
}

/** Records a program with a defect, and looks at what a cut leaves until something shows it. */
export async function findMutant(mutant: Mutant, seed: number): Promise<Sight> {
  const { program, remove } = await buildMutant(mutant)
  try {
    const subject = createDaemons(2)[mutant.app]
    const work = await subject.record(program)
    const extent = { states: 20_000, starts: 0, byChance: 6, seed, until: mutant.shows }
    const { problems, states } = await explore(subject, work, extent)
    return { problem: problems.find(({ what }) => mutant.shows.test(what)), states }
  } finally {
    remove()
  }
}
