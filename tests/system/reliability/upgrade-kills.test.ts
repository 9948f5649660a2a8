/** Some rounds of `npm run reliability upgrade-kills`. */
import { expect, it } from 'vitest'
import { killUpgrades } from './upgrade-kills.ts'

it('a device starts as the same node whatever is killed during its upgrades', {
  timeout: 300_000,
}, async () => {
  const { failures, confirmed } = await killUpgrades(6, () => undefined)
  expect(failures).toEqual([])
  expect(confirmed).toBeGreaterThan(0)
})
