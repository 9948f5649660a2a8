/** Faults of the system calls of a daemon, which a test turns on and off while it runs. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs'
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
/** The bytes of `struct control` of fault.c, and where its members begin. */
const bytes = 1024
const at = { log: 20, slowMs: 40, operation: 44, isHealed: 48, couldHit: 52, path: 76 }
const ofFault = { count: 12, hits: 16 }

export interface Fault {
  readonly kind: FaultKind
  /** Which of the calls fails, from 1. */
  readonly nth: number
  /** How many fail from then on: one by default. */
  readonly inARow?: number
}

/** As `inARow`: all calls from then on. */
export const untilDisarmed = 2 ** 31 - 1

interface Hit {
  readonly operation: (typeof operations)[number]
  readonly path: string
  /** A sync failed, and none of the same file succeeded after it. */
  readonly isUnsynced: boolean
}

/** What happened since `arm`. */
export interface Hits {
  /** The first call on the state that failed. */
  readonly state: Hit | undefined
  /** Writes of the log that failed. */
  readonly log: number
}

export interface Faults {
  /** What a daemon is started with. */
  readonly env: Readonly<Record<string, string>>
  /** From now on the n-th call on a file below the folder fails, and, with a fault of its own, the n-th write of the log. */
  arm(state: Fault, log?: Fault): void
  disarm(): Hits
  /** Calls that the fault of the state could have hit, since `arm`. */
  calls(): number
  /** The same by kind, whatever the kind of the fault. */
  callsOf(kind: FaultKind): number
  /** The same of the log. */
  logCalls(): number
}

/**
 * @param folder for the library and its control file
 * @param program what the command line of the daemon contains
 * @param under the folder whose files are meant
 * @param slowMs milliseconds of a slow write
 */
export function prepareFaults(folder: string, program: string, under: string, slowMs: number): Faults {
  mkdirSync(folder, { recursive: true })
  const library = join(folder, 'fault.so')
  const source = fileURLToPath(new URL('fault.c', import.meta.url))
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, source, '-ldl'])
  const control = join(folder, 'fault-control')
  const file = openSync(control, 'w+')
  writeSync(file, Buffer.alloc(bytes), 0, bytes, 0)
  closeSync(file)

  function write(state: Fault | undefined, log: Fault | undefined): void {
    const content = Buffer.alloc(bytes)
    content.writeInt32LE(slowMs, at.slowMs)
    const faults = [
      [0, state],
      [at.log, log],
    ] as const
    for (const [start, fault] of faults) {
      content.writeInt32LE(fault?.nth ?? 0, start + 4)
      content.writeInt32LE(fault?.inARow ?? 1, start + 8)
    }
    const file = openSync(control, 'r+')
    writeSync(file, content, 0, bytes, 0)
    // The kinds last: from then on the faults count.
    for (const [start, fault] of faults) {
      content.writeInt32LE(fault ? faultKinds.indexOf(fault.kind) + 1 : 0, start)
      writeSync(file, content, start, 4, start)
    }
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
    env: { LD_PRELOAD: library, FAULT_CONTROL: control, FAULT_PROGRAM: program, FAULT_UNDER: under },
    arm: write,
    disarm() {
      const content = read()
      write(undefined, undefined)
      const log = content.readInt32LE(at.log + ofFault.hits)
      if (content.readInt32LE(ofFault.hits) === 0) return { state: undefined, log }
      const operation = operations[content.readInt32LE(at.operation) - 1]!
      const path = content.toString('utf8', at.path, content.indexOf(0, at.path))
      const isUnsynced = operation === 'sync' && content.readInt32LE(at.isHealed) === 0
      return { state: { operation, path, isUnsynced }, log }
    },
    calls: () => read().readInt32LE(ofFault.count),
    callsOf: (kind) => read().readInt32LE(at.couldHit + 4 * (faultKinds.indexOf(kind) + 1)),
    logCalls: () => read().readInt32LE(at.log + ofFault.count),
  }
}
