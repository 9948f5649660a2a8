/**
 * Modules of Node.js in a function. The sandbox has all of them; what needs files, processes or sockets throws an error of it when it
 * is used. They stay imports in a bundle that is a module, and come from `process` in a script and where CommonJS requires them.
 */
import { isBuiltin } from 'node:module'
import type { Plugin } from 'rolldown'
import { ownModules } from './own-modules.ts'

/** `connect()` of the Sockets API, which Workers import. The sandbox has it as a global name. */
const workersSockets = 'cloudflare:sockets'
const ownSockets = '\0selvedge:sockets'
const ownSocketsSource = 'export const connect = (address, options) => globalThis.connect(address, options)\n'

/** The name of a module of Node.js with its scheme; undefined for any other specifier. */
export const nodeModule = (specifier: string): string | undefined =>
  isBuiltin(specifier) ? `node:${specifier.replace(/^node:/, '')}` : undefined

/** Where a script, and CommonJS, get a module of Node.js: an expression. */
export const nodeModuleInScript = (id: string): string => `process.getBuiltinModule(${JSON.stringify(id)})`

/** What the code of CommonJS calls in the bundle. */
export const requireOfNode = 'const require = (name) => process.getBuiltinModule(name)'

export interface NodeModules {
  readonly plugin: Plugin
  /** Whether CommonJS requires one. */
  isRequired(): boolean
}

const ownPrefix = '\0selvedge:'

/** A module that gets what it exports from the sandbox when the function is loaded. */
function ownSource(id: string): string | undefined {
  const name = id.startsWith(ownPrefix) ? id.slice(ownPrefix.length) : undefined
  const names = name === undefined ? undefined : ownModules[name]
  if (names === undefined) return undefined
  const own = name === 'process' ? 'globalThis.process' : nodeModuleInScript(`node:${name}`)
  return `const own = ${own}\nexport default own\nexport const { ${names.join(', ')} } = own\n`
}

export function collectNodeModules(): NodeModules {
  let isRequired = false
  const plugin: Plugin = {
    name: 'selvedge-node',
    resolveId(specifier, _importer, { kind }) {
      if (specifier === workersSockets) return ownSockets
      const id = nodeModule(specifier)
      if (id === undefined) return null
      if (kind === 'require-call') isRequired = true
      else if (Object.hasOwn(ownModules, id.slice('node:'.length)))
        return ownPrefix + id.slice('node:'.length)
      return { id, external: true }
    },
    load(id) {
      if (id === ownSockets) return ownSocketsSource
      return ownSource(id) ?? null
    },
  }
  return { plugin, isRequired: () => isRequired }
}
