/** The code cache of the runtime in a package. It is made by the Node.js of the package: V8 accepts only one of its own architecture. */
import { existsSync } from 'node:fs'
import { makeCodeCache } from '../../scripts/start/code-cache.mjs'
import { type Architecture, ownArchitecture } from '../products.ts'

/** Debian's `qemu-user-static`, and where its `libc6-arm64-cross` is. */
const emulators: Readonly<Partial<Record<Architecture, { program: string; libraries: string }>>> = {
  arm64: { program: '/usr/bin/qemu-aarch64-static', libraries: '/usr/aarch64-linux-gnu' },
}

/** Whether this machine can run programs of an architecture. */
export function canRun(architecture: Architecture): boolean {
  if (architecture === ownArchitecture()) return true
  const emulator = emulators[architecture]
  return emulator !== undefined && existsSync(emulator.program) && existsSync(emulator.libraries)
}

/**
 * @param dist folder of a program with a loader
 * @param node Node.js of the package; without one that this machine can run, the package has no cache and starts more slowly
 */
export function addCodeCache(dist: string, node: string, architecture: Architecture): void {
  if (architecture === ownArchitecture()) makeCodeCache(dist, { node: [node] })
  else if (canRun(architecture)) {
    const { program, libraries } = emulators[architecture]!
    makeCodeCache(dist, { node: [program, node], env: { QEMU_LD_PREFIX: libraries } })
  }
}
