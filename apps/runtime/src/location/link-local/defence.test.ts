import { expect, it } from 'vitest'
import { afterConflict, noConflict } from './defence.ts'

/** What is done at conflicts at these times. */
function defend(times: readonly number[]) {
  let state = noConflict
  return times.map((now) => {
    const { isFirst, mustDefend, ...next } = afterConflict(state, now)
    state = next.state
    return isFirst ? 'first' : mustDefend ? 'defended' : 'ignored'
  })
}

it('defends the name at the first conflict, then after pauses that double', () => {
  const times = [0, 999, 1000, 2999, 3000, 6999, 7000, 14_999, 15_000]
  expect(defend(times)).toEqual([
    'first',
    'ignored',
    'defended',
    'ignored',
    'defended',
    'ignored',
    'defended',
    'ignored',
    'defended',
  ])
})

it('pauses for a minute at most while a conflict continues', () => {
  const times = Array.from({ length: 1000 }, (_, second) => second * 1000)
  const defendedAt = times.filter((_, at) => defend(times.slice(0, at + 1)).at(-1) !== 'ignored')
  expect(defendedAt.slice(0, 9)).toEqual([0, 1000, 3000, 7000, 15_000, 31_000, 63_000, 123_000, 183_000])
})

it('counts a conflict as new after more than a quiet minute', () => {
  expect(defend([0, 60_000, 120_001, 121_001])).toEqual(['first', 'defended', 'first', 'defended'])
})
