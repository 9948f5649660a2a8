import { expect, it } from 'vitest'
import { createBudget } from './budget.ts'

it('has so many units at once, and gets them back with time', () => {
  let at = 0
  const budget = createBudget({ burst: 3, perSecond: 2 }, () => at)
  const spent = () => Array.from({ length: 5 }, () => budget.spend()).filter(Boolean).length
  expect(spent()).toBe(3)
  at += 499
  expect(spent()).toBe(0)
  at += 2
  expect(spent()).toBe(1)
  at += 3_600_000
  expect(spent()).toBe(3)
})
