/**
 * Modules of Node.js in a function. The sandbox has all of them; what needs files, processes or sockets throws an error of it when it
 * is used. They stay imports in a bundle that is a module, and come from `process` in a script and where CommonJS requires them.
 */
import { isBuiltin } from 'node:module'
import type { Plugin } from 'rolldown'

/** A module of its own in place of `node:process`: its named exports would be those from before the function got its environment. */
const ownProcess = '\0selvedge:process'
/** The same on every machine, so that the same files make the same bundle. */
const processNames = `arch argv chdir cwd emit emitWarning env exit hrtime memoryUsage nextTick off on once pid platform stderr
  stdout title umask uptime version versions`
const ownProcessSource = `const own = globalThis.process
export default own
export const { ${processNames.split(/\s+/).join(', ')} } = own
`

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

export function collectNodeModules(): NodeModules {
  let isRequired = false
  const plugin: Plugin = {
    name: 'selvedge-node',
    resolveId(specifier, _importer, { kind }) {
      if (specifier === workersSockets) return ownSockets
      const id = nodeModule(specifier)
      if (id === undefined) return null
      if (kind === 'require-call') isRequired = true
      else if (id === 'node:process') return ownProcess
      return { id, external: true }
    },
    load(id) {
      if (id === ownSockets) return ownSocketsSource
      return id === ownProcess ? ownProcessSource : null
    },
  }
  return { plugin, isRequired: () => isRequired }
}
