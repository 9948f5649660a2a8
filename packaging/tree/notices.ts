/** The licences of what a product contains: most of them require that their text is included. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Lockfile, nameIn, readLockfile, withDependencies } from '../lockfile.ts'
import type { Architecture, Product } from '../products.ts'
import { root } from '../release.ts'
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

/** What the pages of the console contain that is no npm package: the texts are in its folder. */
const consoleLicences = { Inter: 'inter.txt', Lucide: 'lucide.txt', 'Natural Earth': 'natural-earth.txt' }

const licencesOfConsole = ({ programs }: Product): string[] =>
  programs.includes('identity')
    ? Object.entries(consoleLicences).map(([name, file]) =>
        section(name, readFileSync(join(root, 'apps/console/licences', file), 'utf8')),
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
    const { version, license } = packages[path]!
    return section(
      `${nameIn(packages, path)} ${version}`,
      licenceIn(join(root, path)) ?? `${license} (see https://spdx.org/licenses)`,
    )
  })
  const engines = product.engines.map((engine) =>
    engine === 'deno'
      ? section('Deno', denoLicence)
      : section('Node.js', licenceIn(findEngine('node', architecture).folder) ?? ''),
  )
  return `${product.name} contains the following software of others.\n\n${[...new Set(libraries), ...licencesOfConsole(product), ...engines].join('\n')}`
}

/** The bundler of functions, which only the npm package of the command line installs. */
const withoutOptional = (packages: Lockfile, path: string): Lockfile => ({
  ...packages,
  [path]: { ...packages[path], optionalDependencies: {} },
})

const section = (title: string, text: string): string =>
  `${'='.repeat(100)}\n${title}\n${'='.repeat(100)}\n\n${text.trim()}\n`

function licenceIn(folder: string): string | undefined {
  if (!existsSync(folder)) return undefined
  const name = readdirSync(folder)
    .toSorted()
    .find((each) => /^(licen[cs]e|copying)(\.|$)/i.test(each))
  return name === undefined ? undefined : readFileSync(join(folder, name), 'utf8')
}
