import { expect, it } from 'vitest'
import { createBelievedTime } from './believed-time.ts'

const hour = 3_600_000
const year = 365 * 24 * hour

function make() {
  let elapsed = 0
  const believed = createBelievedTime(year, () => elapsed, hour)
  return {
    believed,
    pass(milliseconds: number) {
      elapsed += milliseconds
    },
  }
}

it('continues by itself, and follows small steps ahead', () => {
  const { believed, pass } = make()
  pass(10)
  believed.note(year + 1000)
  pass(5)
  expect(believed.now()).toBe(year + 1005)
})

it('counts a step of a minute as small, and of more as a jump', () => {
  for (const [ahead, believes] of [
    [60_000, true],
    [60_001, false],
  ] as const) {
    const { believed } = make()
    believed.note(year + ahead)
    expect(believed.now()).toBe(believes ? year + ahead : year)
  }
})

it('believes a clock that was set ahead after exactly the time to settle, if it continued within a minute of that', () => {
  for (const [passed, drift, believes] of [
    [hour, 0, true],
    [hour - 1, 0, false],
    [hour, 60_000, true],
    [hour, -60_000, true],
    [hour, 60_001, false],
    [hour, -60_001, false],
  ] as const) {
    const { believed, pass } = make()
    believed.note(2 * year)
    pass(passed)
    const shown = 2 * year + passed + drift
    believed.note(shown)
    expect(believed.now()).toBe(believes ? shown : year + passed)
  }
})

it('forgets a jump when it is replaced', () => {
  const { believed, pass } = make()
  believed.note(2 * year)
  believed.replace(year + 5)
  pass(hour)
  believed.note(2 * year + hour)
  expect(believed.now()).toBe(year + 5 + hour)
})

it('is a whole number of milliseconds', () => {
  const { believed, pass } = make()
  pass(0.7)
  expect(believed.now()).toBe(year)
})

it('does not go back', () => {
  const { believed } = make()
  believed.note(0)
  expect(believed.now()).toBe(year)
})

it('does not believe a jump that does not last, however often it comes', () => {
  const { believed, pass } = make()
  for (const time of [2 * year, year, 3 * year, 2 * year]) {
    believed.note(time)
    pass(hour / 2)
  }
  expect(believed.now()).toBe(year + 2 * hour)
})

it('believes what lasts', () => {
  const { believed, pass } = make()
  believed.note(2 * year)
  pass(hour)
  believed.note(2 * year + hour)
  expect(believed.now()).toBe(2 * year + hour)
})
