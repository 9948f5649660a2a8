/** The memory of a daemon without its garbage: it is collected before it is measured. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { residentMb } from '../system/soak/memory.ts'
import { root } from './processes.ts'

/** The environment of a daemon that collects its garbage when it is asked. */
export const collecting = {
  NODE_OPTIONS: `--expose-gc --require=${join(root, 'tests/system/soak/collect-garbage.cjs')}`,
}

/** Resident memory in megabytes of a daemon that has the environment {@link collecting}. */
export async function memoryOf(daemon: ChildProcess): Promise<number> {
  const collected = new Promise<void>((resolve) => {
    const onMessage = (message: unknown) => {
      if (message !== 'collected') return
      daemon.off('message', onMessage)
      resolve()
    }
    daemon.on('message', onMessage)
  })
  daemon.kill('SIGUSR2')
  await collected
  return residentMb(daemon.pid!)!
}
