/**
 * Random values of tests. All of them come from one seed, so a test that failed fails again in the same way. The end of a run with a
 * failure names it; `SELVEDGE_TEST_SEED=<text> npm test` runs the tests with other values.
 */
import { createRandom, type Random } from '../system/fuzz/engine/random.ts'

export const seed: string = process.env.SELVEDGE_TEST_SEED ?? 'selvedge'

/** Random values of one test file. @param name distinguishes them from those of other files */
export const randomOf = (name: string): Random => createRandom(`${seed} ${name}`)

/** The seed as a number, for campaigns that name each of their runs by one. */
export const testSeed: number = createRandom(seed).below(1_000_000)

/** @returns a function that gives the next number from 0 to less than 1; equal seeds give equal numbers */
export function createChance(of: string | number = testSeed): () => number {
  const random = createRandom(String(of))
  return () => random.below(2 ** 32) / 2 ** 32
}
