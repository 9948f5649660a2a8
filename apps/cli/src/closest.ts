/** Words that are spelled like another word. */

/** Longer words are no typing mistakes. */
export const maxWordLength = 40

/** Words that differ by a third of their letters at most, the closest first. */
export const similar = (word: string, words: readonly string[]): string[] =>
  words
    .map((each) => ({ each, distance: editDistance(word.toLowerCase(), each.toLowerCase()) }))
    .filter(({ each, distance }) => distance <= Math.max(each.length, word.length) / 3)
    .sort((a, b) => a.distance - b.distance)
    .map(({ each }) => each)

/** The word that was probably meant, by its spelling. */
export const closest = (word: string, words: readonly string[]): string | undefined =>
  word.length > maxWordLength ? undefined : similar(word, words)[0]

/** Letters to insert, remove, replace, or exchange with the next one (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let at = 1; at <= b.length; at++) {
      const isSame = a[row - 1] === b[at - 1]
      const isSwapped = row > 1 && at > 1 && a[row - 1] === b[at - 2] && a[row - 2] === b[at - 1]
      line[at] = Math.min(last[at]! + 1, line[at - 1]! + 1, last[at - 1]! + (isSame ? 0 : 1))
      if (isSwapped) line[at] = Math.min(line[at]!, before[at - 2]! + 1)
    }
    before = last
    last = line
  }
  return last[b.length]!
}
