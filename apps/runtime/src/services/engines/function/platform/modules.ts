/**
 * Modules of Node.js that need a file, the device or a name server, as a function has them: files in memory, a machine of constants, and no names. The
 * bundler resolves these imports with `process.getBuiltinModule`. Nothing is made before it is needed.
 */
import { createFileModules } from './files/module.ts'
import { createMachine } from './machine.ts'
import { createNames } from './names.ts'
import { nodeProcess } from './sockets/node.ts'

/** Gives the function these modules. */
export function offerModules(): void {
  const files = once(() => createFileModules())
  const names = once(createNames)
  const machine = once(createMachine)
  const own: Readonly<Record<string, () => unknown>> = {
    fs: () => files().fs,
    'fs/promises': () => files().promises,
    os: machine,
    dns: names,
    'dns/promises': () => names().promises,
  }
  const { getBuiltinModule } = nodeProcess
  Object.defineProperty(nodeProcess, 'getBuiltinModule', {
    value: (id: string) => {
      const name = String(id).replace(/^node:/, '')
      return Object.hasOwn(own, name) ? own[name]!() : getBuiltinModule.call(nodeProcess, id)
    },
    writable: true,
    enumerable: false,
    configurable: true,
  })
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
