/** Packages with native code, by what they declare: how they load it is not always seen in their source. */
import { existsSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'

const packages = `${sep}node_modules${sep}`

/** Files from which node-gyp builds native code. */
const buildFiles = ['binding.gyp', join('src', 'binding.gyp')]

/** Whether the package of a file has native code to build or to load. @param path in a `node_modules` folder */
export function isNativePackage(path: string, name: string): boolean {
  const folder = join(path.slice(0, path.lastIndexOf(packages) + packages.length), name)
  if (buildFiles.some((each) => existsSync(join(folder, each)))) return true
  try {
    // `napi`: the tools of napi-rs, which put native code into other packages, one for each platform.
    const { gypfile, napi } = Object(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
    return gypfile === true || typeof napi === 'object'
  } catch {
    return false
  }
}
