/** The memory of a daemon without its garbage: it is collected before it is measured. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { residentMb } from '../system/soak/memory.ts'
import { root } from './processes.ts'

/** The environment of a daemon that collects its garbage when it is asked. */
export const collecting = {
  NODE_OPTIONS: `--expose-gc --require=${join(root, 'tests/system/soak/collect-garbage.cjs')}`,
}

/** Megabytes. */
export interface Memory {
  /** Of the process, with what is free in it. */
  readonly resident: number
  /** By the objects and buffers of its main thread. */
  readonly used: number
}

/** The memory of a daemon that has the environment {@link collecting}. */
export async function memoryOf(daemon: ChildProcess): Promise<Memory> {
  const collected = new Promise<number>((resolve) => {
    const onMessage = (message: unknown) => {
      const { collected } = message as { readonly collected?: number }
      if (collected === undefined) return
      daemon.off('message', onMessage)
      resolve(collected)
    }
    daemon.on('message', onMessage)
  })
  daemon.kill('SIGUSR2')
  const used = (await collected) / 1024 / 1024
  return { resident: residentMb(daemon.pid!)!, used }
}
