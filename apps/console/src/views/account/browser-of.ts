/** Names of browsers and systems in the order in which they are looked for: Edge also names Chrome, and Chrome Safari. */
const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/** A User-Agent header as people know it: "Chrome on Linux". What is unknown stays as it is. */
export function browserOf(userAgent: string): string {
  const nameOf = (names: readonly (readonly [mark: string, name: string])[]) =>
    names.find(([mark]) => userAgent.includes(mark))?.[1]
  const browser = nameOf(browsers)
  if (browser === undefined) return userAgent || 'Unknown program'
  const system = nameOf(systems)
  return system === undefined ? browser : `${browser} on ${system}`
}
