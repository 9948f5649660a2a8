import { expect, it } from 'vitest'
import { killUnderLoad } from './kills.ts'

/** Each thing that can happen once; `npm run reliability kills` makes 300 rounds, and freezes for thirty seconds. */
const rounds = 15

it('nothing that was acknowledged is lost when daemons, their database and their Redis are killed, frozen and cut off', {
  timeout: 300_000,
}, async () => {
  const killed = await killUnderLoad({ rounds, freezesMs: [300], spread: 40 })
  console.info('kills:', killed)
  expect(killed.failures).toEqual([])
  expect(killed.acknowledged).toBeGreaterThan(rounds * 5)
})
