/** How the host program of a function is held: which layers this machine has, and the command line that applies them. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import type { Cgroups } from './cgroup.ts'
import { noSockets, openSockets, runtimeHost } from './control.ts'
import type { InstanceFolder } from './instance-folder.ts'
import { lifelineScript } from './lifeline.ts'
import type { MemoryReader } from './watch-memory.ts'

/** First of the users that instances run as where the runtime is root. */
export const firstUser = 0x7000_0000

/**
 * The user of an instance: one that no other process has, not even another instance. It needs no entry anywhere; the range is
 * beyond what systems give out.
 */
export const userOf = (folder: string): number =>
  firstUser + (createHash('sha256').update(folder).digest().readUInt32BE(0) & 0x0fff_ffff)

/** Share of the memory limit that the JavaScript heap may take; the rest is for code, stacks and buffers. */
const heapShare = 0.6

export interface Sandbox extends MemoryReader {
  readonly deno: string
  readonly program: string
  readonly cgroups: Cgroups | undefined
  /** Whether the program has a root of its own, with the sockets at other paths. */
  readonly hasBubblewrap: boolean
  /** Descriptors of the runtime that a child would inherit. */
  readonly inheritable: readonly number[]
  readonly layers: string[]
  readonly hints: string[]
  /** Whether every instance runs as a separate user; if not, it runs as the runtime's user. */
  readonly hasOwnUser: boolean
  /** Whether functions may open connections: they could change nothing at the path of their socket, also without Deno. */
  readonly hasSockets: boolean
  /** Whether the system cannot end a program together with the runtime, so that a pipe has to ({@link lifeline}). */
  readonly needsLifeline: boolean
  /** The command that becomes the program in all its layers. */
  hold(program: readonly string[], mounts: Mounts): readonly string[]
}

export interface Mounts {
  /** The user of the program where the runtime is root. */
  readonly user: number | undefined
  /** Paths on the host: two sockets, and the folder in which the program opens its own. */
  readonly sockets?: { readonly control: string; readonly host: string; readonly start: string }
}

/** Environment of the program; its cache is at a path that can never exist. */
export const environment = { DENO_DIR: '/dev/null/none', NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' }

export const unavailable = (detail: string, hint: string, cause?: unknown): RpcError =>
  new RpcError('engine_unavailable', detail, { hint, cause })

interface Paths {
  readonly deno: string
  readonly program: string
  readonly control: string
  readonly service: string
  readonly host: string
}

/** Paths inside bubblewrap. */
const inside: Paths = {
  deno: '/deno',
  program: '/program.js',
  control: '/control',
  service: '/start/service',
  host: '/host',
}

/**
 * What the program may use until it has opened its sockets; then it gives all of it up but the name for its requests, and the host
 * socket if functions may open connections.
 */
function denoArgs(
  { deno, program, control, service, host }: Paths,
  { memoryMb, hasSockets }: { readonly memoryMb: number; readonly hasSockets: boolean },
): string[] {
  const sockets = [control, service, host]
  return [
    deno,
    'run',
    '--quiet',
    '--no-prompt',
    '--no-remote',
    '--no-npm',
    '--no-config',
    '--no-lock',
    '--no-code-cache',
    // The signal of a request aborts when its caller leaves, and not after each answer.
    '--unstable-no-legacy-abort',
    '--cached-only',
    `--v8-flags=--max-old-space-size=${Math.floor(memoryMb * heapShare)}`,
    `--allow-net=${[...sockets.map((path) => `unix:${path}`), runtimeHost].join(',')}`,
    `--allow-read=${sockets.join(',')}`,
    `--allow-write=${sockets.join(',')}`,
    program,
    ...sockets,
    hasSockets ? openSockets : noSockets,
  ]
}

export interface CommandLine {
  readonly file: string
  readonly args: readonly string[]
}

/**
 * The command that starts the host program in its sandbox. A shell joins the control group and sets limits before it becomes
 * the sandbox, so that there is no moment in which the program is not held. It may write to no file: not one byte (`ulimit -f`).
 */
export function commandLine(
  sandbox: Sandbox,
  folder: InstanceFolder,
  user: number | undefined,
  memoryMb: number,
  joinFiles: readonly string[],
): CommandLine {
  const { deno, program, hasSockets, hasBubblewrap, needsLifeline } = sandbox
  const { control, host, start } = folder
  const paths = hasBubblewrap ? inside : { deno, program, control, host, service: join(start, 'service') }
  const held = sandbox.hold(denoArgs(paths, { memoryMb, hasSockets }), {
    user,
    sockets: { control, host, start },
  })
  const script = [
    ...(needsLifeline ? [lifelineScript] : []),
    ...joinFiles.map((each) => `echo $$ > '${each}' || exit 70;`),
    'ulimit -f 0; ulimit -c 0; exec "$@"',
  ].join(' ')
  return { file: '/bin/sh', args: ['-c', script, 'sh', ...held] }
}
