/** A small part of `npm run powercut`: what a cut of the power leaves of the daemons' work, and whether the machine sees defects. */
import { describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { testSeed } from '../../harness/seed.ts'
import { createControls } from './controls/index.ts'
import { createDaemons } from './daemons/index.ts'
import { explore } from './explore.ts'
import { lifeUntil, recordOnce } from './lives.ts'
import { expectApplicable } from './mutants/build.ts'
import { findMutant } from './mutants/find.ts'
import { mutants } from './mutants/mutants.ts'
import { createUpgrades } from './upgrades/upgrades.ts'

const seed = testSeed
/** Defects that once were put in and that no quick test noticed. `npm run powercut mutants` runs all of them. */
const sampled = [
  "an error of a folder's sync is swallowed",
  "an error of a blob's sync is swallowed",
  'a key file that is found, its folder not synced',
]
const samples = [
  ...mutants.filter(({ name }) => sampled.includes(name)),
  // Each daemon has a database: two of the three once answered early without being noticed.
  ...mutants.filter(({ name, app }) => name === 'SQLite answers before COMMIT' && app === 'discovery'),
]
const timeout = 600_000
const { runtime } = createDaemons(1)
const daemonNeeds = needs('strace', 'bwrap')

describe('after a cut of the power', { ...daemonNeeds, timeout }, () => {
  it.each(Object.entries(createDaemons(2)))(
    '%s starts as the same node, with all that it acknowledged, whole, and without a false alarm',
    async (_, subject) => {
      const work = await recordOnce(subject)
      const found = await explore(subject, work, { states: 100, starts: 2, byChance: 2, seed })
      expect(found.problems).toEqual([])
      expect(found.states).toBeGreaterThan(50)
      expect(found.starts).toBeGreaterThan(0)
    },
  )
})

describe('after a kill, a start and a cut of the power', { ...daemonNeeds, timeout }, () => {
  it.each(['node-key.json', 'state.a'])(
    'what the second process found and used is there: %s',
    async (name) => {
      const work = await runtime.record({ earlier: await lifeUntil(runtime, name) })
      const found = await explore(runtime, work, { states: 60, starts: 1, byChance: 1, seed })
      expect(found.problems).toEqual([])
    },
  )
})

describe('on a disk that fails some syncs', { ...daemonNeeds, timeout }, () => {
  it('the runtime acknowledges only what is there after a cut of the power', async () => {
    const work = await runtime.record({ failingSyncs: 'later' })
    const failed = work.recording.operations.filter(({ kind }) => kind === 'failed sync')
    expect(failed.length).toBeGreaterThan(2)
    const found = await explore(runtime, work, { states: 100, starts: 1, byChance: 2, seed })
    expect(found.problems).toEqual([])
  })

  it('the runtime does not start where it cannot keep the name of its key', async () => {
    await expect(runtime.record({ failingSyncs: 'node-key.json' })).rejects.toThrow('EIO')
  })
})

it('after a cut of the power a whole release starts: the one that was promised', {
  ...needs('strace'),
  timeout,
}, async () => {
  const subject = createUpgrades(1)
  const found = await explore(subject, await subject.record(), { states: 100, starts: 0, byChance: 4, seed })
  expect(found.problems).toEqual([])
  expect(found.states).toBeGreaterThan(50)
  expect(found.acknowledged).toBe(10)
})

describe('a program with a defect is seen to lose something', () => {
  it('every defect is one of the code as it is', () => {
    for (const mutant of mutants) expectApplicable(mutant)
    expect(samples).toHaveLength(4)
  })

  it.each(samples.map((each) => [each.app, each.name, each] as const))(
    '%s: %s',
    { ...daemonNeeds, timeout },
    async (_, __, mutant) => expect((await findMutant(mutant, seed)).problem).toBeDefined(),
  )
})

describe('programs of others lose what they are known to lose', () => {
  it.each(createControls(12).map((each) => [each.subject.name, each] as const))(
    '%s',
    { ...needs('strace', 'sqlite3', 'redis-server'), timeout },
    async (_, { subject, loses, states }) => {
      const extent = { states: Math.min(states, 100), starts: 0, byChance: 2, seed }
      const { problems } = await explore(subject, await subject.record(), extent)
      expect([...new Set(problems.map(({ model }) => model))].sort()).toEqual([...loses].sort())
    },
  )
})
