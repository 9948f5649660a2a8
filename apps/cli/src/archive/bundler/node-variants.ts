/**
 * Packages that use files, decode streams or open TCP connections in their variant for Node.js, and cannot in that for browsers. A function has what
 * they need, so they are bundled as Node.js finds them. All other packages come as browsers and workers get them. The author of a function adds
 * packages with `selvedge.nodePackages` in its package.json, and the bundler those with a variant for browsers that lacks what others import.
 */
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { packageOfFile } from './absent.ts'

/** Names of packages; `*` at the end is for any further characters. */
const known = [
  'ejs',
  'iconv-lite',
  'mqtt',
  // Some packages of this family have a variant for browsers without classes that others, which have no such variant, extend.
  'node-opcua*',
  'nunjucks',
  'pino',
  'superagent',
  'ws',
]

/** Packages that one build adds by itself. Each costs a build. */
const maxAdded = 10
const maxChosen = 100
const maxFileBytes = 1024 * 1024
const chosenName = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*\*?$/

export interface NodeVariants {
  /**
   * The file that Node.js loads for an import of such a package, or for one inside of it.
   *
   * @returns undefined for any other import, and if Node.js finds no file
   */
  resolve(specifier: string, importer: string): string | undefined
  /** Has a package bundled as Node.js finds it. @returns whether that changes something */
  add(name: string): boolean
}

/** @param chosen names that the author of the function added */
export function createNodeVariants(chosen: readonly string[] = []): NodeVariants {
  const listed = [...known, ...chosen]
  const added = new Set<string>()
  const isIn = (name: string) => added.has(name) || listed.some((each) => matches(each, name))
  return {
    resolve(specifier, importer) {
      const name = packageOfSpecifier(specifier) ?? packageOfFile(importer)
      if (name === undefined || !isIn(name)) return undefined
      try {
        return createRequire(importer).resolve(specifier)
      } catch {
        return undefined
      }
    },
    add(name) {
      if (isIn(name) || added.size >= maxAdded) return false
      added.add(name)
      return true
    },
  }
}

const matches = (listed: string, name: string): boolean =>
  listed.endsWith('*') ? name.startsWith(listed.slice(0, -1)) : name === listed

/** The name of the package of a specifier; undefined for a path. */
function packageOfSpecifier(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('/')) return undefined
  const [first = '', second = ''] = specifier.split('/', 2)
  return first.startsWith('@') ? `${first}/${second}` : first
}

/**
 * `selvedge.nodePackages` of the package.json of a function.
 *
 * @returns an empty list if there is no such file or field
 * @throws Error with what is wrong with the field
 */
export function readChosenPackages(folder: string): readonly string[] {
  const path = join(folder, 'package.json')
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile() !== true) return []
  const { size } = found
  if (size > maxFileBytes) throw new Error(`it has ${size} bytes, and may have ${maxFileBytes}`)
  const chosen: unknown = Object(Object(JSON.parse(readFileSync(path, 'utf8'))).selvedge).nodePackages
  if (chosen === undefined) return []
  if (!Array.isArray(chosen) || chosen.length > maxChosen)
    throw new Error(`selvedge.nodePackages must be a list of at most ${maxChosen} names`)
  for (const each of chosen as unknown[])
    if (typeof each !== 'string' || each.length > 214 || !chosenName.test(each))
      throw new Error(`selvedge.nodePackages has ${JSON.stringify(each)}, which is no name of a package`)
  return chosen as string[]
}
