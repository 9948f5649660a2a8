/** The bundler of functions, beside the command line of a device: rolldown, its library, and its program for the architecture. */
import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type Architecture, architectures, type Product } from '../products.ts'
import { root } from '../release.ts'
import { findPackage } from './engines.ts'

/** Programs with which a user deploys from a device need it; those of the operator do not. */
export const hasBundler = ({ programs }: Product): boolean =>
  programs.includes('cli') && programs.includes('runtime')

/** Folders of the packages by their names: libraries are the same for all architectures. */
export const bundlerPackages = (architecture: Architecture): Readonly<Record<string, string>> => {
  const program = `@rolldown/binding-linux-${architectures[architecture]}-gnu`
  const libraries = ['rolldown', '@rolldown/pluginutils']
  return {
    ...Object.fromEntries(libraries.map((name) => [name, join(root, 'node_modules', name)])),
    [program]: findPackage(program, architecture),
  }
}

/** Folders and files at the top of a package that are not copied: nothing runs them, and the notices have the licences. */
const left = /^(?:node_modules|bin|README\.md|(?:THIRD-PARTY-)?LICENSE)$/

/** Copies what runs, without types. @param target folder of the command line */
export function addBundler(target: string, architecture: Architecture): void {
  for (const [name, folder] of Object.entries(bundlerPackages(architecture))) {
    const copy = join(target, 'node_modules', name)
    mkdirSync(dirname(copy), { recursive: true })
    cpSync(folder, copy, {
      recursive: true,
      filter: (path) => !/\.d\.[mc]?ts$/.test(path) && !left.test(relative(folder, path)),
    })
  }
}
