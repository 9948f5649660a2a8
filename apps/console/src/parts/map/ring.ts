/** The ring around the number of a cluster: an arc for each state, as long as its share. */
import { type State, states } from './fleet.ts'

export interface Arc {
  readonly state: State
  /** Part of the circle at which it begins, and its share: 0 to 1. */
  readonly start: number
  readonly length: number
}

/** A state that is there at all can be seen: a single blocked device among a thousand, too. */
const minLength = 0.06

/** @param counts devices by state, in the order of `states`; at least one in all */
export function arcsOf(counts: readonly number[]): Arc[] {
  const present = states.flatMap((state, index) =>
    counts[index]! > 0 ? [{ state, count: counts[index]! }] : [],
  )
  const total = present.reduce((sum, { count }) => sum + count, 0)
  const lengths = present.map(({ count }) => Math.max(minLength, count / total))
  const excess = lengths.reduce((sum, each) => sum + each, 0) - 1
  const longest = lengths.indexOf(Math.max(...lengths))
  let start = 0
  return present.map(({ state }, index) => {
    const length = lengths[index]! - (index === longest ? excess : 0)
    start += length
    return { state, start: start - length, length }
  })
}
