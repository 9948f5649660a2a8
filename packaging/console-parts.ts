/** What the pages of the console contain that is no npm package. The files with the texts are in apps/console/licences. */

interface ConsolePart {
  readonly name: string
  /** As in CycloneDX. */
  readonly type: 'file' | 'data'
  /** SPDX expression; undefined for what is in the public domain. */
  readonly license: string | undefined
  /** File with the text of the licence. */
  readonly text: string
}

export const consoleParts: readonly ConsolePart[] = [
  { name: 'Inter', type: 'file', license: 'OFL-1.1', text: 'inter.txt' },
  { name: 'Lucide', type: 'file', license: 'ISC AND MIT', text: 'lucide.txt' },
  { name: 'Natural Earth', type: 'data', license: undefined, text: 'natural-earth.txt' },
  { name: 'GeoNames', type: 'data', license: 'CC-BY-4.0', text: 'geonames.txt' },
]
