/** THIRD-PARTY-NOTICES: the text of each licence of what a product contains, with the names of its authors. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ownArchitecture, products } from '../../../packaging/products.ts'
import { licenceOf, noticesOf } from '../../../packaging/tree/notices.ts'
import { temporaryFolder } from '../../harness/processes.ts'

const line = `${'='.repeat(100)}\n`
const known = new Map<string, ReadonlyMap<string, string>>()
/** The text of each part, by its title. It is made once for each product. */
function partsOf(name: string): ReadonlyMap<string, string> {
  const parts = known.get(name) ?? readParts(name)
  known.set(name, parts)
  return parts
}
function readParts(name: string): ReadonlyMap<string, string> {
  const product = products.find((each) => each.name === name)!
  const [, ...rest] = noticesOf(product, ownArchitecture()!).split(line)
  return new Map(rest.flatMap((title, at) => (at % 2 === 0 ? [[title.trim(), rest[at + 1]!]] : [])))
}

it.each(products.map(({ name }) => name))('has the text of each licence and whom it is of: %s', (name) => {
  const parts = partsOf(name)
  expect(parts.size).toBeGreaterThan(40)
  for (const [title, text] of parts) {
    expect(text.length, title).toBeGreaterThan(150)
    expect(text, title).toMatch(/copyright|public domain|unlicense/i)
    expect(text, title).not.toContain('https://spdx.org')
  }
})

it.each([
  ['maplibre-gl ', /MapLibre contributors.*Copyright \(c\) 2020, Mapbox/s],
  ['preact ', /Jason Miller/],
  ['world-atlas ', /Bostock/],
  ['topojson-client ', /Bostock/],
  ['@simplewebauthn/browser ', /Matthew Miller/],
  [
    'Inter',
    /The Inter Project Authors.*SIL OPEN FONT LICENSE Version 1\.1.*FROM\s+OTHER DEALINGS IN THE FONT SOFTWARE/is,
  ],
  ['Lucide', /ISC License.*Lucide Icons and Contributors.*Cole Bemis/s],
  ['Natural Earth', /naturalearthdata\.com.*public domain/s],
])('has what the pages of the console contain: %s', (title, text) => {
  const [found] = [...partsOf('selvedge-identity')].filter(([each]) => each.startsWith(title))
  expect(found?.[1]).toMatch(text)
  const inRuntime = [...partsOf('selvedge').keys()].filter((each) => each.startsWith(title))
  expect(inRuntime).toEqual([])
})

it.each<[string, Record<string, string>, RegExp]>([
  ['its file', { LICENSE: 'the file', 'README.md': '# License\nPermission' }, /^the file$/],
  [
    'all of its files',
    { 'LICENSE-MIT': 'one', 'license-apache.txt': 'two', NOTICE: 'three' },
    /^one.three.two$/s,
  ],
  [
    'the part of its README',
    { 'README.md': '# x\n## License (MIT)\nPermission of Ada\n## Next\nno' },
    /^Permission of Ada\s*$/,
  ],
  [
    'the end of its README',
    { 'Readme.md': '# License\n\nCopyright Ada\nPermission' },
    /Copyright Ada\nPermission$/,
  ],
  [
    'the text of MIT with its author',
    { 'package.json': '{"license":"MIT","author":"Ada"}' },
    /^MIT License\n\nCopyright Ada\n\nPermission is/,
  ],
])('finds the licence of a package: %s', async (_, files, text) => {
  expect(licenceOf(await packageWith(files))).toMatch(text)
})

it.each([
  { 'package.json': '{"license":"Apache-2.0","author":"Ada"}' },
  { 'package.json': '{"license":"MIT"}' },
])('does not make a release with a package that has no text of its licence: %j', async (files) => {
  const folder = await packageWith(files)
  expect(() => licenceOf(folder)).toThrow('has no text of its licence')
})

async function packageWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder()
  onTestFinished(folder.remove)
  const path = join(folder.path, 'package')
  mkdirSync(path)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  return path
}
