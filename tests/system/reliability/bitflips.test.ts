import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { temporaryFolder } from '../../harness/processes.ts'
import { damageable, damageFiles, makeStates } from './bitflips.ts'

/** `npm run reliability bitflips-<daemon>` damages 1,000 states. */
const rounds = 8

let folder: Awaited<ReturnType<typeof temporaryFolder>>
const states = () => join(folder.path, 'states')
beforeAll(async () => {
  folder = await temporaryFolder()
  await makeStates(states())
})
afterAll(() => folder.remove())

it.each(damageable)(
  'the %s with damaged state refuses in one sentence or goes on as itself',
  async (daemon) => {
    const { outcomes, failures } = await damageFiles(daemon, states(), rounds)
    console.info(`${daemon}:`, outcomes)
    expect(failures).toEqual([])
  },
)
