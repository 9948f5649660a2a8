/** Larger inputs do not come in pieces of a few bytes. */
const maxDripped = 4096

/**
 * Feeds an input to a reader of streams in pieces, of a size that follows from the input.
 *
 * @returns the number of pieces
 */
export function inChunks(input: Buffer, feed: (chunk: Buffer) => void): number {
  const kind = input.length === 0 ? 0 : (input.length + input[input.length >> 1]!) % 4
  const size =
    kind < 2
      ? Math.max(1, input.length)
      : kind === 2 && input.length <= maxDripped
        ? 1 + (input.length % 7)
        : 1 + (input.length % 1500)
  let pieces = 0
  for (let at = 0; at < input.length; at += size) {
    pieces++
    feed(input.subarray(at, at + size))
  }
  return Math.max(1, pieces)
}
