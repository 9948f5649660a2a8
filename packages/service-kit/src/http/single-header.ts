/**
 * The value of a header that must not be repeated. It reads the raw headers: Node joins or drops repeated ones.
 *
 * @param header its name in lower case
 * @returns undefined without the header, or with more than one
 */
export function singleHeader(rawHeaders: readonly string[], header: string): string | undefined {
  let found: string | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length !== header.length || name.toLowerCase() !== header) continue
    if (found !== undefined) return undefined
    found = rawHeaders[at + 1]!
  }
  return found
}
