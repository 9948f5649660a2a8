/** Runs function images: one Deno process an instance, with nothing allowed but its own sockets, in every layer that the host has. */
import { hash } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import type { Blobs } from '../../images/blobs.ts'
import type { Engine } from '../engine.ts'
import { openCgroups } from './cgroup.ts'
import { findDeno } from './find-deno.ts'
import { startInstance } from './instance.ts'
import { findSandbox, type Sandbox } from './sandbox.ts'

export interface FunctionEngineParts {
  /** Of the runtime; two runtimes on one machine keep apart by it. */
  readonly state: string
  /** The bundled host program. */
  readonly program: string
  readonly blobs: Blobs
}

export function createFunctionEngine({ state, program, blobs }: FunctionEngineParts): Engine {
  const name = `selvedge-${hash('sha256', state, 'hex').slice(0, 12)}`
  const folder = join(tmpdir(), name)
  let found: Promise<Sandbox> | undefined
  let instances = 0

  function sandbox(): Promise<Sandbox> {
    found ??= (async () => {
      const deno = findDeno()
      if (deno === undefined) {
        throw new RpcError(
          'engine_unavailable',
          `there is no Deno for ${process.platform} on ${process.arch}`,
          {
            hint: 'Install the package @deno/linux-x64-glibc or @deno/linux-arm64-glibc; other systems run OCI images only.',
          },
        )
      }
      return findSandbox(deno, program, name)
    })()
    found.catch(() => {
      found = undefined
    })
    return found
  }

  return {
    async start(plan) {
      const held = await sandbox()
      openFolder(folder)
      return startInstance(plan, held, join(folder, String(++instances)), blobs)
    },
    adopt: async () => undefined,
    async recover() {
      // A run that ended in order left no folder.
      if (!existsSync(folder)) return
      // What an earlier run started ended with it. Where the kernel could not see to that, its group or its sockets tell.
      await openCgroups(name)?.removeAll()
      rmSync(folder, { recursive: true, force: true })
    },
    removeData: async () => undefined,
    removeImage: async () => undefined,
    async close() {
      const { cgroups } = (await found?.catch(() => undefined)) ?? {}
      await cgroups?.close()
      rmSync(folder, { recursive: true, force: true })
    },
    async describe() {
      try {
        const { layers, hints, deno } = await sandbox()
        return { available: true, detail: deno, isolation: layers, hints }
      } catch (cause) {
        const { message, hint } = cause as RpcError
        return { available: false, detail: message, isolation: [], hints: [hint] }
      }
    },
  }
}

/** A folder that only this user can have made; others may pass through it, which the sandboxed user needs. */
function openFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  const { uid } = lstatSync(folder)
  if (!lstatSync(folder).isDirectory() || uid !== process.getuid?.()) {
    throw new RpcError('engine_unavailable', `${folder} is not of this user`, {
      hint: `Somebody else made it: remove it, or set TMPDIR to a folder of your own.`,
    })
  }
  chmodSync(folder, 0o711)
}
