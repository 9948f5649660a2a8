/** How the host program of a function is held: which layers this machine has, and the command line that applies them. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { RpcError } from '@selvedge/protocol'
import { bubblewrapArgs, type Mounts, setpriv } from './bubblewrap.ts'
import { type Cgroups, openCgroups } from './cgroup.ts'
import { noSockets, openSockets, runtimeHost } from './control.ts'
import { inheritableDescriptors } from './descriptors.ts'
import type { InstanceFolder } from './instance-folder.ts'

/** First of the users that instances run as where the runtime is root. */
const firstUser = 0x7000_0000

/**
 * The user of an instance: one that no other process has, not even another instance. It needs no entry anywhere; the range is
 * beyond what systems give out.
 */
export const userOf = (folder: string): number =>
  firstUser + (createHash('sha256').update(folder).digest().readUInt32BE(0) & 0x0fff_ffff)

/** Share of the memory limit that the JavaScript heap may take; the rest is for code, stacks and buffers. */
const heapShare = 0.6

export interface Sandbox {
  readonly deno: string
  readonly program: string
  readonly cgroups: Cgroups | undefined
  readonly hasBubblewrap: boolean
  /** Descriptors of the runtime that a child would inherit. */
  readonly inheritable: readonly number[]
  readonly layers: string[]
  readonly hints: string[]
  /** Whether every instance runs as a separate user; if not, it runs as the runtime's user. */
  readonly hasOwnUser: boolean
  /** Whether functions may open connections: they could change nothing at the path of their socket, also without Deno. */
  readonly hasSockets: boolean
}

/**
 * Finds the layers of this machine. What is not installed is left out and reported; what is installed and fails is an error,
 * so that no function ever runs with less isolation than the machine can give.
 *
 * @throws RpcError `engine_unavailable`
 */
export async function findSandbox(deno: string, program: string, cgroupName: string): Promise<Sandbox> {
  const isRoot = process.getuid?.() === 0
  if (!existsSync(setpriv)) throw unavailable(`${setpriv} is not there`, 'Install the package "util-linux".')
  const cgroups = findCgroups(cgroupName)
  const hasBubblewrap = isInstalled('bwrap')
  if (hasBubblewrap) await tryBubblewrap(deno, program)
  const hasOwnUser = isRoot && (hasBubblewrap || [deno, program].every(isReachableByOthers))
  const layers = ['language permissions']
  if (hasBubblewrap) layers.push('namespaces')
  if (hasBubblewrap || hasOwnUser) layers.push('unprivileged user')
  layers.push(cgroups ? `cgroup v${cgroups.version}` : 'memory watch')
  const hints: string[] = []
  if (!hasBubblewrap)
    hints.push(`${withoutNamespaces(isRoot, hasOwnUser)}: install the package "bubblewrap" for namespaces.`)
  if (!cgroups)
    hints.push(
      'No control groups: run the runtime as root, or with Delegate=yes in its systemd unit, for limits of memory, processor and processes by the kernel.',
    )
  const hasSockets = !isRoot || hasBubblewrap || hasOwnUser
  if (!hasSockets)
    hints.push('Functions have no TCP connections as processes of root: install the package "bubblewrap".')
  const inheritable = inheritableDescriptors()
  return { deno, program, cgroups, hasBubblewrap, hasOwnUser, hasSockets, inheritable, layers, hints }
}

function withoutNamespaces(isRoot: boolean, hasOwnUser: boolean): string {
  if (hasOwnUser) return 'Functions run as users of their own (uid 1879048192 and up), without namespaces'
  if (isRoot)
    return 'Functions are processes of root (uid 0), and only language permissions keep them from the files of this machine'
  return `Functions run as the user of the runtime (uid ${process.getuid?.()}), and only language permissions keep them from its files`
}

function unavailable(detail: string, hint: string, cause?: unknown): RpcError {
  return new RpcError('engine_unavailable', detail, { hint, cause })
}

function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Whether users other than this one can read or run a file. */
function isReachableByOthers(path: string): boolean {
  const real = realpathSync(path)
  if ((statSync(real).mode & 0o004) === 0) return false
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false
    if (folder === dirname(folder)) return true
  }
}

function findCgroups(name: string): Cgroups | undefined {
  try {
    return openCgroups(name)
  } catch (cause) {
    const { message } = cause as Error
    throw unavailable(
      `control groups fail: ${message}`,
      'The function starts once they work again; "selvedge doctor" shows it.',
      cause,
    )
  }
}

async function tryBubblewrap(deno: string, program: string): Promise<void> {
  try {
    const args = bubblewrapArgs({ deno, program }, { user: process.getuid?.() === 0 ? firstUser : undefined })
    await promisify(execFile)('bwrap', [...args, '/deno', '--version'], { timeout: 10_000 })
  } catch (cause) {
    const { stderr, message } = cause as Error & { stderr?: string }
    throw unavailable(
      `bubblewrap is installed and fails: ${(stderr?.trim() || message).slice(0, 300)}`,
      'Allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 or kernel.unprivileged_userns_clone=1). To run functions without namespaces, remove the package "bubblewrap".',
      cause,
    )
  }
}

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
  const { deno, program, hasSockets } = sandbox
  const allowed = { memoryMb, hasSockets }
  const { control, host, start } = folder
  const mounts: Mounts = { user, sockets: { control, host, start } }
  const held = sandbox.hasBubblewrap
    ? ['bwrap', ...bubblewrapArgs(sandbox, mounts), ...denoArgs(inside, allowed)]
    : [
        setpriv,
        ...(user === undefined
          ? []
          : [
              `--reuid=${user}`,
              `--regid=${user}`,
              '--clear-groups',
              '--inh-caps=-all',
              '--bounding-set=-all',
            ]),
        '--pdeathsig',
        'KILL',
        '--no-new-privs',
        ...denoArgs({ deno, program, control, host, service: join(start, 'service') }, allowed),
      ]
  const script = `for f in ${joinFiles.map((each) => `'${each}'`).join(' ')}; do echo $$ > "$f" || exit 70; done; ulimit -f 0; ulimit -c 0; exec "$@"`
  return { file: '/bin/sh', args: ['-c', script, 'sh', ...held] }
}
