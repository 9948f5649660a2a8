import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UsageError } from './failure.ts'

/**
 * A program that does a part of the work of the command line. It is not in the npm package of the command line.
 *
 * @param path below the folder of all programs, such as `identity/dist/store-copy.cjs`
 * @throws UsageError if it is not installed
 */
export function installedProgram(path: string): string {
  // This file is in `cli/src`, or bundled in `cli/dist/main.cjs`.
  const file = fileURLToPath(new URL(`../../${path}`, import.meta.url))
  // Anywhere else, such as in an npm package, the folders beside this one are of others.
  const isBesideOthers = /\/cli\/(?:src|dist)\/[^/]+$/.test(import.meta.url)
  const isNpmPackage = import.meta.url.includes('/node_modules/')
  if (isBesideOthers && !isNpmPackage) {
    const found = [file, inPackage(path)].find((each) => existsSync(each))
    if (found !== undefined) return found
  }
  throw new UsageError(
    `the program for this command (${path}) is not part of this installation`,
    'Run the command where the service is installed: in a clone of the repository, or from its package.',
  )
}

/** Where the Debian package of a service has a program of it. */
const inPackage = (path: string): string => `/usr/lib/selvedge-${path.slice(0, path.indexOf('/'))}/${path}`

/** Node.js that the daemons and the simulator need; the command line itself also runs on earlier versions. */
const leastMajor = 24

/**
 * The Node.js for an installed program: this one if it is recent enough, else that of the clone.
 *
 * @throws UsageError without one
 */
export function nodeOfPrograms(): string {
  const { node } = process.versions
  if (Number(node.split('.')[0]) >= leastMajor) return process.execPath
  const ofClone = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url))
  if (existsSync(ofClone)) return ofClone
  throw new UsageError(
    `this command needs Node.js ${leastMajor} or later; this is ${node}`,
    'Run "npm install" in the clone, which installs that version, or run the command with a later Node.js.',
  )
}
