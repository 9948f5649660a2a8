import { expect, it } from 'vitest'
import { damageable, damageFiles } from './bitflips.ts'

it.each(damageable)(
  'the %s with damaged state refuses in one sentence or goes on as itself',
  async (daemon) => {
    const { outcomes, failures } = await damageFiles(daemon, 12)
    console.info(`${daemon}:`, outcomes)
    expect(failures).toEqual([])
  },
)
