/** The global names of a function: those of Node.js as far as they concern it, and those of the engine of this API family (ES5). */
import { createCaches } from './caches.ts'
import { duktape } from './duktape.ts'

/** The unprivileged user of Linux. */
const nobody = 65_534

/**
 * Makes `process` that of the function: the platform's own needs rights that no function has where packages only read (`process.env`,
 * `process.cwd()`). It shows nothing of the device, and what would change it throws the error of the sandbox.
 *
 * @param env values of the container
 */
export function setProcess(
  env: Readonly<Record<string, string>>,
  target: { process: object } = globalThis as never,
): void {
  const members = {
    env: { ...env },
    cwd: () => '/',
    argv: ['node', 'index.js'],
    execArgv: [],
    umask: () => 0o077,
    getuid: () => nobody,
    geteuid: () => nobody,
    getgid: () => nobody,
    getegid: () => nobody,
    getgroups: () => [nobody],
  }
  for (const [name, value] of Object.entries(members)) setHidden(target.process, name, value)
}

/** Makes `caches` those of the function: the platform's own need a disk. */
export const setCaches = (target: object = globalThis): unknown => setHidden(target, 'caches', createCaches())

/** To be called before the code of a handler runs. */
export function setGlobals(target: object = globalThis): void {
  for (const [name, value] of Object.entries({ Duktape: duktape, global: target }))
    setHidden(target, name, value)
}

const setHidden = (target: object, name: string, value: unknown) =>
  Object.defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true })
