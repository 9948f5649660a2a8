/** Some upgrades of `npm run reliability upgrade-gap`. */
import { expect, it } from 'vitest'
import { measureUpgradeGap } from './upgrade-gap.ts'

it('no caller gets a wrong answer during upgrades of a device', { timeout: 300_000 }, async () => {
  const noticed = await measureUpgradeGap(2)
  for (const [name, { right, wrong, gapsMs }] of Object.entries(noticed)) {
    expect(wrong, name).toEqual([])
    expect(right, name).toBeGreaterThan(20)
    expect(gapsMs, name).toHaveLength(2)
  }
  expect(Object.keys(noticed)).toEqual(expect.arrayContaining(['getMe', 'function']))
})
