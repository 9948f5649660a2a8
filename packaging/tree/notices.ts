/** The licences of what a product contains: most of them require that their text is included. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { consoleParts } from '../console-parts.ts'
import { type Lockfile, nameIn, readLockfile, withDependencies } from '../lockfile.ts'
import type { Architecture, Product } from '../products.ts'
import { readJson, root } from '../release.ts'
import { bundlerPackages, hasBundler } from './bundler.ts'
import { findEngine } from './engines.ts'

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

/** Its npm package has no licence file. */
const denoLicence = `MIT License\n\nCopyright 2018-2026 the Deno authors\n\n${mit}`

const licencesOfConsole = ({ programs }: Product): string[] =>
  programs.includes('identity')
    ? consoleParts.map(({ name, text }) =>
        section(name, readFileSync(join(root, 'apps/console/licences', text), 'utf8')),
      )
    : []

/** The pages of the console are a part of the identity service. */
const workspacesOf = ({ programs }: Product): string[] =>
  programs.flatMap((each) => [`apps/${each}`, ...(each === 'identity' ? ['apps/console'] : [])])

/** @returns the text of THIRD-PARTY-NOTICES: the same for the same lockfile */
export function noticesOf(product: Product, architecture: Architecture): string {
  const packages = withoutOptional(readLockfile(), 'apps/cli')
  const paths = withDependencies(packages, workspacesOf(product)).filter((path) =>
    /(^|\/)node_modules\//.test(path),
  )
  const libraries = paths.map((path) => {
    return section(`${nameIn(packages, path)} ${packages[path]!.version}`, licenceOf(join(root, path)))
  })
  const bundler = hasBundler(product) ? bundlerNotices(architecture, packages) : []
  const engines = product.engines.map((engine) =>
    engine === 'deno'
      ? section('Deno', denoLicence)
      : section('Node.js', licenceOf(findEngine('node', architecture).folder)),
  )
  return `${product.name} contains the following software of others.\n\n${[...new Set([...libraries, ...bundler]), ...licencesOfConsole(product), ...engines].join('\n')}`
}

/** The program of the bundler has no licence file of its own: it is built from the sources of the library. */
const bundlerNotices = (architecture: Architecture, packages: Lockfile): string[] =>
  Object.entries(bundlerPackages(architecture)).map(([name, folder]) =>
    section(
      `${name} ${packages[`node_modules/${name}`]!.version}`,
      licenceOf(name.startsWith('@rolldown/binding') ? join(root, 'node_modules/rolldown') : folder),
    ),
  )

/** The bundler of functions and its programs for all systems: a device has the one of its architecture. */
const withoutOptional = (packages: Lockfile, path: string): Lockfile => ({
  ...packages,
  [path]: { ...packages[path], optionalDependencies: {} },
})

const section = (title: string, text: string): string =>
  `${'='.repeat(100)}\n${title}\n${'='.repeat(100)}\n\n${text.trim()}\n`

/** The files of a package with its licences, and with the notices that they require (Apache License 2.0, 4d). */
const isLicence = (name: string): boolean =>
  /^(?:(?:third-party-)?licen[cs]e|copying|notice)(?:[.-]|$)/i.test(name)

/**
 * The text of the licence of a package: its files, otherwise the part of its README, otherwise the text of the MIT licence.
 *
 * @throws Error if there is no text
 */
export function licenceOf(folder: string): string {
  const names = readdirSync(folder).toSorted()
  const files = names.filter(isLicence)
  const readme = names.find((each) => /^readme(?:\.|$)/i.test(each))
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  if (files.length > 0) return files.map(read).join('\n')
  const part = readme === undefined ? '' : licencePart(read(readme))
  if (part.includes('Permission')) return part
  const { license, author } = readJson<{ license?: string; author?: string }>(join(folder, 'package.json'))
  if (license !== 'MIT' || typeof author !== 'string') throw new Error(`${folder} has no text of its licence`)
  return `MIT License\n\nCopyright ${author}\n\n${mit}`
}

/** The part of a README under the heading of the licence. */
const licencePart = (readme: string): string =>
  /^#+ licen[cs]e\b[^\n]*\n(.*?)(?=^#|$(?!.))/ims.exec(readme)?.[1] ?? ''
