/** The packages of package-lock.json, and what each of them needs. */
import { join } from 'node:path'
import { readJson, root } from './release.ts'

interface Locked {
  readonly name?: string
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly resolved?: string
  /** True if this is only the link to a package of the workspace; `resolved` has its path. */
  readonly link?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** By path, such as `node_modules/zod` or `apps/cli`. */
export type Lockfile = Readonly<Record<string, Locked>>

/** Where Node finds a package: beside the one that needs it, or in a folder above. */
function pathOf(packages: Lockfile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    const found = packages[path]
    if (found) return found.link ? found.resolved : path
    if (folder === '') return undefined
  }
}

/** Parts of the transpiler of components that no program contains: the command line has its WebAssembly and the interfaces of WASI 0.2 alone. */
const unused = new Set([
  '@bytecodealliance/jco-node-fs',
  '@bytecodealliance/preview3-shim',
  'binaryen',
  'oxc-minify',
])

/** @returns paths of what a package needs directly, and what is a part of a product */
export const neededBy = (packages: Lockfile, path: string): string[] => {
  const { dependencies = {}, optionalDependencies = {} } = packages[path]!
  return Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) =>
    unused.has(name) ? [] : (pathOf(packages, path, name) ?? []),
  )
}

/** @returns the paths, and those of all that they need, in order */
export function withDependencies(packages: Lockfile, paths: readonly string[]): string[] {
  const found = new Set<string>()
  const queue = [...paths]
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (found.has(path)) continue
    found.add(path)
    queue.push(...neededBy(packages, path))
  }
  return [...found].toSorted()
}

export const readLockfile = (): Lockfile =>
  readJson<{ packages: Lockfile }>(join(root, 'package-lock.json')).packages

/** Name of the package at a path, such as `zod` at `node_modules/zod`. */
export const nameIn = (packages: Lockfile, path: string): string =>
  packages[path]!.name ?? path.replace(/^.*node_modules\//, '')
