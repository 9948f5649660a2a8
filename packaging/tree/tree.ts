/**
 * The folder of an installed product: `bin` with its commands, Node.js, its programs, and licences. It may be moved as a whole, since
 * each file finds the others by its own real path. A Debian package has it in /usr/lib, a tarball has it as its only folder.
 */
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allocatorEnv } from '@selvedge/service-kit/lifecycle'
import type { Architecture, Command, Product } from '../products.ts'
import { type Release, root } from '../release.ts'
import { addBundler, hasBundler } from './bundler.ts'
import { findEngine } from './engines.ts'
import { noticesOf } from './notices.ts'
import { addCodeCache } from './start-cache.ts'

/** @param target the folder; it is made */
export function makeTree(
  product: Product,
  architecture: Architecture,
  { version }: Release,
  target: string,
): void {
  mkdirSync(join(target, 'bin'), { recursive: true })
  for (const [name, command] of Object.entries(product.commands))
    writeFileSync(join(target, 'bin', name), launcherOf(name, command), { mode: 0o755 })
  for (const engine of product.engines)
    copyFileSync(findEngine(engine, architecture).program, join(target, engine))
  for (const program of product.programs) copyProgram(program, join(target, program))
  if (hasBundler(product)) addBundler(join(target, 'cli'), architecture)
  if (product.programs.includes('runtime'))
    addCodeCache(join(target, 'runtime/dist'), findEngine('node', architecture).program, architecture)
  copyFileSync(join(root, 'LICENSE'), join(target, 'LICENSE'))
  writeFileSync(join(target, 'THIRD-PARTY-NOTICES'), noticesOf(product, architecture))
  writeFileSync(join(target, 'VERSION'), `${version}\n`)
}

/** A program as it was built; the command line also has templates. */
function copyProgram(program: Command['program'], target: string): void {
  for (const each of program === 'cli' ? ['dist', 'templates'] : ['dist'])
    cpSync(join(root, 'apps', program, each), join(target, each), {
      recursive: true,
      filter: (path) => !/\.(?:built|cache)$/.test(path),
    })
}

const allocator = Object.entries(allocatorEnv)
  .map(([name, value]) => `${name}=${value}`)
  .join(' ')

const launcherOf = (name: string, { program, flags = '', words = '' }: Command): string => `#!/bin/sh
# Runs the program of the folder that this file is really in: links lead to it.
folder=$(dirname "$(dirname "$(readlink -f "$0")")")
${program === 'cli' ? (words === '' ? '' : `export SELVEDGE_PROGRAM=${name}\n`) : `export ${allocator}\n`}exec "$folder/node" ${[flags, `"$folder/${program}/dist/main.cjs"`, words, '"$@"'].filter((each) => each !== '').join(' ')}
`

/** Gives a folder the same modes and times on every machine: a file is executable for all users or not at all. */
export function normalize(folder: string, epochSeconds: number): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) normalize(path, epochSeconds)
    else if (entry.isFile()) {
      chmodSync(path, isExecutable(folder, entry.name) ? 0o755 : 0o644)
      utimesSync(path, epochSeconds, epochSeconds)
    }
  }
  chmodSync(folder, 0o755)
  utimesSync(folder, epochSeconds, epochSeconds)
}

/** By its name: the mode of a file in a checkout or in `node_modules` depends on who made it. */
const isExecutable = (folder: string, name: string): boolean =>
  /\/(?:bin|DEBIAN)$/.test(folder)
    ? !/^(?:conffiles|control|md5sums)$/.test(name)
    : /^(?:node|deno|choose-release)$/.test(name)
