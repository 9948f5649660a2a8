/** The code cache of the runtime in a package. It is made by the Node.js of the package: V8 accepts only one of its own architecture. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { makeCodeCache, programIn } from '../../scripts/start/code-cache.mjs'
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

/** By Node.js and program, named by its digest: what this process has made. A tarball and a Debian package have the same one. */
const made = new Map<string, Buffer>()

/**
 * @param dist folder of a program with a loader
 * @param node Node.js of the package; without one that this machine can run, the package has no cache and starts more slowly
 */
export function addCodeCache(dist: string, node: string, architecture: Architecture): void {
  if (!canRun(architecture)) return
  const path = programIn(dist)
  const key = `${node} ${basename(path)}`
  const known = made.get(key)
  if (known !== undefined) writeFileSync(`${path}.cache`, known, { mode: 0o644 })
  else if (architecture === ownArchitecture()) makeCodeCache(dist, { node: [node] })
  else {
    const { program, libraries } = emulators[architecture]!
    makeCodeCache(dist, { node: [program, node], env: { QEMU_LD_PREFIX: libraries } })
  }
  made.set(key, readFileSync(`${path}.cache`))
}
