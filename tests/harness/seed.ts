/** The seed of the random values of tests: the same on every run, so that a failure can be repeated; SELVEDGE_TEST_SEED is another one. */
export const testSeed = Number(process.env.SELVEDGE_TEST_SEED ?? 20_261_122)

/** @returns a function that gives the next number from 0 to less than 1; equal seeds give equal numbers */
export function createRandom(seed: number = testSeed): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
