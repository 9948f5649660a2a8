/**
 * Modules that packages try to load, and go without: optional packages that are not installed, and native code deep in what a package
 * depends on. In their place is a module that fails as they would: when it is loaded, or when it is used.
 */
import { sep } from 'node:path'

const absent = '\0selvedge:absent:'
const native = '\0selvedge:native:'

/** Packages that find and load native code. */
const nativeLoaders = new Set(['bindings', 'node-gyp-build', '@mapbox/node-pre-gyp'])

export const isNativeLoader = (specifier: string): boolean => nativeLoaders.has(specifier)

/** Whether the code goes on without the module if it is not there: it asks when it runs, and can catch the failure. */
export const mayBeAbsent = (kind: string, importer: string): boolean =>
  isOfPackage(importer) && (kind === 'require-call' || kind === 'dynamic-import')

export const absentModule = (specifier: string): string => absent + specifier
export const nativeModule = (specifier: string): string => native + specifier

/** The source of a module that is in the place of another one; undefined for any other module. */
export function sourceInPlace(id: string): string | undefined {
  if (id.startsWith(absent)) {
    const message = `Cannot find module '${id.slice(absent.length)}'`
    return `module.exports = undefined
throw Object.assign(new Error(${JSON.stringify(message)}), { code: 'MODULE_NOT_FOUND' })`
  }
  if (!id.startsWith(native)) return undefined
  const message = `${id.slice(native.length)} loads native code, which functions cannot run`
  return `const fail = () => {
  throw Object.assign(new Error(${JSON.stringify(message)}), { name: 'NativeCodeError', code: 'ERR_DLOPEN_FAILED' })
}
module.exports = Object.assign(() => new Proxy({}, { get: () => fail }), { find: fail })`
}

const packageName = new RegExp(`.*\\${sep}node_modules\\${sep}((?:@[^\\${sep}]+\\${sep})?[^\\${sep}]+)`)

/** The name of the package of a file; undefined for one of the function itself. */
export const packageOfFile = (path: string): string | undefined => packageName.exec(path)?.[1]

const isOfPackage = (path: string): boolean => packageOfFile(path) !== undefined
