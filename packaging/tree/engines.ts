/**
 * Node.js and Deno for an architecture: those of `node_modules`, which npm has checked, and for another architecture the same
 * packages from the registry. Their bytes are never changed, so that anyone can compare them with what their projects publish.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Architecture, architectures, type Engine, ownArchitecture } from '../products.ts'
import { readJson, root } from '../release.ts'

interface Carried {
  readonly name: (cpu: string) => string
  /** Paths in the package. */
  readonly program: string
}

const carried: Readonly<Record<Engine, Carried>> = {
  node: { name: (cpu) => `node-linux-${cpu}`, program: 'bin/node' },
  deno: { name: (cpu) => `@deno/linux-${cpu}-glibc`, program: 'deno' },
}

/** By name: folders of what this process has got and checked already. */
const unpacked = new Map<string, string>()

/** @returns the folder of the package and the program in it */
export function findEngine(engine: Engine, architecture: Architecture): { folder: string; program: string } {
  const folder = findPackage(carried[engine].name(architectures[architecture]), architecture)
  return { folder, program: join(folder, carried[engine].program) }
}

/** @param name of an npm package for one architecture alone @returns its folder */
export function findPackage(name: string, architecture: Architecture): string {
  const installed = join(root, 'node_modules', name)
  const isOwn = architecture === ownArchitecture() && existsSync(installed)
  return isOwn ? installed : (unpacked.get(name) ?? unpack(name, join(root, '.cache/packaging')))
}

/**
 * Gets a package of another architecture, which npm does not install here.
 *
 * @throws Error if its bytes are not those of the lockfile
 */
function unpack(name: string, cache: string): string {
  const { version, integrity } = lockedPackage(name)
  const folder = join(cache, `${name.replace(/\W+/g, '-')}-${version}`)
  mkdirSync(folder, { recursive: true })
  const out = execFileSync(
    'npm',
    ['pack', `${name}@${version}`, '--json', '--prefer-offline', '--pack-destination', folder],
    { cwd: folder, encoding: 'utf8', maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const [packed] = Object.values(JSON.parse(out) as Record<string, { filename: string }>)
  const tarball = join(folder, packed!.filename)
  expectIntegrity(name, readFileSync(tarball), integrity)
  execFileSync('tar', ['xzf', tarball, '-C', folder])
  unpacked.set(name, join(folder, 'package'))
  return join(folder, 'package')
}

function lockedPackage(name: string): { version: string; integrity: string } {
  const { packages } = readJson<{
    packages: Readonly<Record<string, { version: string; integrity: string } | undefined>>
  }>(join(root, 'package-lock.json'))
  const found = packages[`node_modules/${name}`]
  if (found?.integrity?.startsWith('sha512-')) return found
  throw new Error(`package-lock.json has no SHA-512 of ${name}`)
}

/** @throws Error if the bytes are not those that the lockfile names */
export function expectIntegrity(name: string, bytes: Uint8Array, integrity: string): void {
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
  if (found !== integrity)
    throw new Error(`the registry sent ${name} with ${found}; package-lock.json expects ${integrity}`)
}
