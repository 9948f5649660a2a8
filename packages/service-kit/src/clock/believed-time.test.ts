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
