import { createDaemons } from '../daemons/index.ts'
import { explore, type Problem } from '../explore.ts'
import { lifeUntil } from '../lives.ts'
import { buildMutant } from './build.ts'
import type { Mutant } from './mutants.ts'

export interface Sight {
  /** The first state that shows the mutant; undefined: it was not seen. */
  readonly problem: Problem | undefined
  /** Different states that were opened until then. */
  readonly states: number
}

/** How often a program with a defect is recorded. One that answers too early may still write in time, by chance. */
const maxRecordings = 3

/** Records a program with a defect, and looks at what a cut leaves until something shows it. */
export async function findMutant(mutant: Mutant, seed: number): Promise<Sight> {
  const { program, remove } = await buildMutant(mutant)
  try {
    const subject = createDaemons(2)[mutant.app]
    /** The states that are looked at first are few and show most defects. */
    const depths = [undefined, 6]
    const extent = { states: 20_000, starts: 0, seed, until: mutant.shows }
    const earlier =
      mutant.killedAfter === undefined ? undefined : await lifeUntil(subject, mutant.killedAfter)
    let looked = 0
    let problem: Problem | undefined
    for (let left = maxRecordings; left > 0 && !problem; left--) {
      const work = await subject.record({ program, earlier, failingSyncs: mutant.failingSyncs })
      for (const byChance of depths) {
        const { problems, states } = await explore(subject, work, { ...extent, byChance })
        looked += states
        problem ??= problems.find(({ what }) => mutant.shows.test(what))
        if (problem) break
      }
    }
    return { problem, states: looked }
  } finally {
    remove()
  }
}
