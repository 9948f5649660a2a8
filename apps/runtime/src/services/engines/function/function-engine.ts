/** Runs function images: one Deno process an instance, with nothing allowed but its own sockets, in every layer that the host has. */
import { hash } from 'node:crypto'
import { realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { shareResult } from '@selvedge/service-kit/share'
import type { Blobs } from '../../images/blobs.ts'
import type { Engine } from '../engine.ts'
import { denoHint, findDeno } from './find-deno.ts'
import { hostSystem } from './host-system.ts'
import { startInstance } from './instance.ts'
import { createRunFolder, findRunFolder, removeRunFolder } from './instance-folder.ts'
import type { Sandbox } from './sandbox.ts'

export interface FunctionEngineParts {
  /** The state folder of the runtime; the note about the folder of its sockets is in it. */
  readonly state: string
  /** The bundled host program. */
  readonly program: string
  readonly blobs: Blobs
}

export function createFunctionEngine({ state, program, blobs }: FunctionEngineParts): Engine {
  const note = join(state, 'function-sockets')
  let folder: string | undefined
  let instances = 0

  // Two runtimes on one machine never share it, however their state folders are spelled.
  const groupName = () =>
    `selvedge-${hash('sha256', `${realpathSync(state)} ${process.getuid?.()}`, 'hex').slice(0, 12)}`

  const sandbox = shareResult(() => findDenoSandbox(program, groupName()))

  return {
    async start(plan) {
      const held = await sandbox()
      folder ??= createRunFolder(note)
      return startInstance(plan, held, join(folder, String(++instances)), blobs)
    },
    missingForNames: async () => 'functions are on no network',
    adopt: async () => undefined,
    async recover() {
      const left = findRunFolder(note)
      // A run that stopped in order left no folder.
      if (left === undefined) return
      // The processes of an earlier run exited with it. Where the kernel could not ensure that, its group or its sockets do.
      await hostSystem.endEarlier(groupName())
      removeRunFolder(left)
      folder = undefined
    },
    removeData: async () => undefined,
    removeImage: async () => undefined,
    async close() {
      const { cgroups } = (await sandbox.present()?.catch(() => undefined)) ?? {}
      await cgroups?.close()
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
      rmSync(note, { force: true })
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

async function findDenoSandbox(program: string, groupName: string): Promise<Sandbox> {
  const deno = findDeno()
  if (deno !== undefined) return hostSystem.findSandbox(deno, program, groupName)
  throw new RpcError('engine_unavailable', `there is no Deno for ${process.platform} on ${process.arch}`, {
    hint: denoHint(),
  })
}
