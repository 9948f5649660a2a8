/** Bytes of a list of nodes, as JSON. */
export const maxListBytes = 256 * 1024

/** The first entries of a list, as many as have room in so many bytes of JSON; the first one alone is never too long. */
export function firstWithin<T>(maxBytes: number, entries: readonly T[]): T[] {
  let bytes = 2
  const end = entries.findIndex((each, index) => {
    bytes += Buffer.byteLength(JSON.stringify(each)) + 1
    return index > 0 && bytes > maxBytes
  })
  return entries.slice(0, end === -1 ? undefined : end)
}
