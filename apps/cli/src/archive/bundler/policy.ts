/**
 * What a function may import: files of its own folder, and packages. Every file is checked by its real path, so that no link brings a
 * file of the user into an image. Nothing of the folder is run, and nothing is fetched.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** Packages of the workspace in one function. */
const maxPackages = 1000

export interface Policy {
  /** Why a specifier is refused before it is resolved; undefined if it is not. */
  refuse(specifier: string): string | undefined
  /** Why the file that a specifier leads to is refused; undefined if it is allowed. */
  refuseFile(path: string, specifier: string): string | undefined
}

const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep)

/** @param folder of the function */
export function createPolicy(folder: string): Policy {
  const own = realpathSync.native(folder)
  const workspace = findWorkspace(own)
  /** Folders of packages outside of `node_modules`, which npm links there: those of the workspace. */
  const packages = new Set<string>()
  return {
    refuse(specifier) {
      const [scheme] = /^[a-z][a-z0-9+.-]+:/i.exec(specifier) ?? []
      if (scheme === 'node:') return `Node.js has no module ${JSON.stringify(specifier)}.`
      if (scheme !== undefined)
        return `${scheme} imports are not allowed: nothing is fetched. Install the package, or copy the file into the folder.`
      if (isAbsolute(specifier))
        return 'absolute paths are not allowed. Use a path that begins with "./", or a package.'
      return undefined
    },
    refuseFile(path, specifier) {
      let real: string
      try {
        // As the system reads the path: that of Node.js removes "x/.." from it, also where x is a file.
        real = realpathSync.native(path)
        if (!statSync(real).isFile()) return `${relative(own, path)} is not a file`
        if (real.endsWith('.node')) return native(relative(own, path))
      } catch (cause) {
        return (cause as Error).message
      }
      if (isInside(real, own) || isInstalled(real, own)) return undefined
      for (const each of packages) if (isInside(real, each)) return undefined
      const home = /^\.{1,2}(?:\/|$)/.test(specifier) ? undefined : packageOf(real, workspace)
      if (home === undefined)
        return `it leads to ${real}, outside of the folder. Copy the file into the folder, or make it a package of the workspace.`
      if (packages.size >= maxPackages)
        return `more than ${maxPackages} packages of the workspace are imported`
      packages.add(home)
      return undefined
    },
  }
}

export const native = (what: string): string =>
  `${what} is or loads native code, which functions cannot run: their sandbox has no machine code of others. Use a package in JavaScript or WebAssembly, or a container.`

/** Whether a real path is in a `node_modules` folder of the function's folder or of one above it. */
function isInstalled(real: string, own: string): boolean {
  const at = real.indexOf(`${sep}node_modules${sep}`)
  return at >= 0 && isInside(own, real.slice(0, at) || sep)
}

/** The outermost folder above that declares npm or pnpm workspaces. */
function findWorkspace(own: string): string | undefined {
  let found: string | undefined
  for (let folder = dirname(own); ; folder = dirname(folder)) {
    if (declaresWorkspaces(folder)) found = folder
    if (folder === dirname(folder)) return found
  }
}

function declaresWorkspaces(folder: string): boolean {
  const path = join(folder, 'package.json')
  try {
    if (existsSync(join(folder, 'pnpm-workspace.yaml'))) return true
    return statSync(path).isFile() && Object(JSON.parse(readFileSync(path, 'utf8'))).workspaces !== undefined
  } catch {
    return false
  }
}

/** The folder of the package that a file of the workspace belongs to. */
function packageOf(real: string, workspace: string | undefined): string | undefined {
  if (workspace === undefined || !isInside(real, workspace)) return undefined
  for (
    let folder = dirname(real);
    folder !== workspace && isInside(folder, workspace);
    folder = resolve(folder, '..')
  )
    if (existsSync(join(folder, 'package.json'))) return folder
  return undefined
}
