/** Modules of Node.js are made ready for the function when it gets them: nothing is loaded before it is needed. */
import { nodeProcess } from './sockets/node.ts'

/**
 * @param onModule called with the name of a module, without its scheme, before `process.getBuiltinModule` returns it
 */
export function watchModules(onModule: (name: string) => void): void {
  const { getBuiltinModule } = nodeProcess
  Object.defineProperty(nodeProcess, 'getBuiltinModule', {
    value: (id: string) => {
      onModule(String(id).replace(/^node:/, ''))
      return getBuiltinModule.call(nodeProcess, id)
    },
    writable: true,
    enumerable: false,
    configurable: true,
  })
}
