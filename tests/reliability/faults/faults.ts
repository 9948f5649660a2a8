/** Faults of the system calls of a daemon, which a test turns on and off while it runs. */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** In the order of `enum kind` of fault.c, from 1. */
export const faultKinds = ['EIO', 'ENOSPC', 'EMFILE', 'short write', 'slow write'] as const
export type FaultKind = (typeof faultKinds)[number]

const operations = [
  'open',
  'create',
  'read',
  'write',
  'sync',
  'rename',
  'unlink',
  'mkdir',
  'truncate',
] as const
const pathAt = 32
const bytes = 1024

interface Fault {
  readonly kind: FaultKind
  /** Which of the calls fails, from 1. */
  readonly nth: number
  /** How many fail from then on. */
  readonly inARow?: number
}

interface Hit {
  readonly operation: (typeof operations)[number]
  readonly path: string
  /** A sync failed, and none of the same file succeeded after it. */
  readonly isUnsynced: boolean
}

export interface Faults {
  /** What a daemon is started with. */
  readonly env: Readonly<Record<string, string>>
  /** From now on the n-th call on a file below the folder fails. */
  arm(fault: Fault): void
  /** @returns what was hit since `arm`, and nothing where there were fewer calls */
  disarm(): Hit | undefined
  /** Calls that the fault could have hit, since `arm`. */
  calls(): number
}

/**
 * @param folder for the program and its control file
 * @param under the folder whose files are meant
 * @param slowMs milliseconds of a slow write
 */
export function prepareFaults(folder: string, under: string, slowMs = 5000): Faults {
  const library = join(folder, 'fault.so')
  const source = fileURLToPath(new URL('fault.c', import.meta.url))
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, source, '-ldl'])
  const control = join(folder, 'fault-control')
  const file = openSync(control, 'w+')
  writeSync(file, Buffer.alloc(bytes), 0, bytes, 0)
  closeSync(file)

  function write(numbers: readonly number[]): void {
    const content = Buffer.alloc(bytes)
    for (const [at, number] of numbers.entries()) content.writeInt32LE(number, at * 4)
    const file = openSync(control, 'r+')
    // The kind last: from then on the fault counts.
    writeSync(file, content, 4, bytes - 4, 4)
    writeSync(file, content, 0, 4, 0)
    closeSync(file)
  }
  function read(): Buffer {
    const content = Buffer.alloc(bytes)
    const file = openSync(control, 'r')
    readSync(file, content, 0, bytes, 0)
    closeSync(file)
    return content
  }

  return {
    env: { LD_PRELOAD: library, FAULT_CONTROL: control, FAULT_UNDER: under },
    arm: ({ kind, nth, inARow = 1 }) => write([faultKinds.indexOf(kind) + 1, nth, inARow, slowMs]),
    disarm() {
      const content = read()
      write([])
      if (content.readInt32LE(20) === 0) return undefined
      const operation = operations[content.readInt32LE(24) - 1]!
      const path = content.toString('utf8', pathAt, content.indexOf(0, pathAt))
      return { operation, path, isUnsynced: operation === 'sync' && content.readInt32LE(28) === 0 }
    },
    calls: () => read().readInt32LE(16),
  }
}
