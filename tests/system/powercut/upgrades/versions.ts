/** Of a round: the release that works, and one that never confirms itself. */
export const versionsOf = (round: number): { good: string; bad: string } => ({
  good: `1.${2 * round + 1}.0`,
  bad: `1.${2 * round + 2}.0`,
})

/** After each step of the driver, the release that the next start has to run. */
export function startsAfter(rounds: number): string[] {
  const starts = ['1.0.0']
  for (let round = 0; round < rounds; round++) {
    const { good, bad } = versionsOf(round)
    const before = starts.at(-1)!
    // Upgraded; on trial, so that the next start rolls back; confirmed; started again.
    starts.push(good, before, good, good)
    // Upgraded; on trial; rolled back by the launcher; upgraded again; rolled back by hand.
    starts.push(bad, good, good, bad, good)
  }
  return starts
}
