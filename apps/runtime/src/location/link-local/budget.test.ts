import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createBudget } from './budget.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const rates = { each: { burst: 5, perSecond: 2 }, all: { burst: 20, perSecond: 10 } }
const taken = (budget: ReturnType<typeof createBudget>, senders: readonly string[]) =>
  senders.filter((each) => budget.take(each)).length
const times = (count: number, sender: string) => Array<string>(count).fill(sender)

it('one sender gets its burst, then its rate', () => {
  const budget = createBudget(rates)
  expect(taken(budget, times(100, 'eve'))).toBe(5)
  vi.advanceTimersByTime(1000)
  expect(taken(budget, times(100, 'eve'))).toBe(2)
  expect(taken(budget, times(3, 'bob'))).toBe(3)
})

it('all senders together get no more than the total, however many they are', () => {
  const budget = createBudget(rates)
  const many = Array.from({ length: 10_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`)
  expect(taken(budget, many)).toBe(20)
  vi.advanceTimersByTime(1000)
  expect(taken(budget, many)).toBe(10)
})

it('a sender that has used up its own tokens uses no token of the others', () => {
  const budget = createBudget(rates)
  taken(budget, times(1000, 'eve'))
  expect(taken(budget, times(5, 'ann'))).toBe(5)
  expect(taken(budget, times(5, 'bob'))).toBe(5)
})

it('a jump of the wall clock adds and removes no token', () => {
  const budget = createBudget(rates)
  taken(budget, times(5, 'eve'))
  vi.setSystemTime(Date.now() + 86_400_000)
  expect(budget.take('eve')).toBe(false)
  vi.setSystemTime(0)
  vi.advanceTimersByTime(1000)
  expect(budget.take('eve')).toBe(true)
})

it('of 1000 senders each has tokens of its own; of more, the longest unused starts again', () => {
  const budget = createBudget({ each: { burst: 5, perSecond: 2 }, all: { burst: 100_000, perSecond: 1 } })
  taken(budget, times(5, 'eve'))
  taken(budget, times(5, 'ann'))
  for (let each = 0; each < 998; each++) budget.take(`s${each}`)
  expect(budget.take('eve')).toBe(false)
  budget.take('another')
  expect(budget.take('eve')).toBe(false)
  expect(taken(budget, times(9, 'ann'))).toBe(5)
})
