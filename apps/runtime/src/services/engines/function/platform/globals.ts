/**
 * The global names that handlers expect: those of the engine of this API family (ES5, no Node), and of what bundlers leave in.
 * `process` of the platform would ask for rights that no function has (`process.env.DEBUG` throws); this one answers, and knows nothing.
 */
import { duktape } from './duktape.ts'

const nothing = () => undefined

/** As much of Node's `process` as bundled packages read. It shows nothing of the device, and has no effect on it. */
const inertProcess = Object.freeze({
  env: Object.freeze({}),
  argv: Object.freeze([]),
  platform: '',
  version: '',
  // Without a version of Node, packages take the way of browsers.
  versions: Object.freeze({}),
  browser: true,
  cwd: () => '/',
  nextTick(callback: (...args: unknown[]) => void, ...args: unknown[]): void {
    queueMicrotask(() => callback(...args))
  },
  on: nothing,
  once: nothing,
  off: nothing,
  removeListener: nothing,
  emit: () => false,
})

/** To be called before the code of a function runs. */
export function setGlobals(target: object = globalThis): void {
  const names = { process: inertProcess, Duktape: duktape, global: target }
  for (const [name, value] of Object.entries(names))
    Object.defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true })
}
