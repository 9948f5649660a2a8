/** How the host program of a function is held: which layers this machine has, and the command line that puts them on. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { type Cgroups, openCgroups } from './cgroup.ts'
import { runtimeHost, sockets } from './control.ts'

const run = promisify(execFile)

/** The unprivileged user of Linux. */
const nobody = 65_534

/**
 * The user that the host program of an instance runs as where the runtime is root: one that nobody else has, not even another
 * instance. It needs no entry anywhere; the range is beyond what systems give out.
 *
 * @param folder of the instance
 */
export const userOf = (folder: string): number =>
  0x7000_0000 + (createHash('sha256').update(folder).digest().readUInt32BE(0) & 0x0fff_ffff)

/** Most bytes, in blocks of 512, of a file that the host program may write: it needs none but small ones. */
const maxFileBlocks = 32_768
/** Share of the memory limit that the JavaScript heap may take; the rest is for code, stacks and buffers. */
const heapShare = 0.6

/** Not of users where the runtime is root: mounting needs root then, and the program is given another user instead. */
const namespaces = ['ipc', 'pid', 'net', 'uts', 'cgroup-try']

export interface Sandbox {
  readonly deno: string
  readonly program: string
  readonly cgroups: Cgroups | undefined
  readonly hasBubblewrap: boolean
  readonly layers: string[]
  readonly hints: string[]
}

/** What is tried once, at the first use: only what is seen to work is counted on. */
export async function findSandbox(deno: string, program: string, cgroupName: string): Promise<Sandbox> {
  const cgroups = openCgroups(cgroupName)
  const base = { deno, program, cgroups }
  const trial = { ...base, hasBubblewrap: true, layers: [], hints: [] }
  const failure = await run('bwrap', [...bubblewrapArgs(trial, undefined), '/deno', '--version'], {
    timeout: 10_000,
  }).then(
    () => undefined,
    (cause: Error & { stderr?: string }) => cause.stderr?.trim() || cause.message,
  )
  const hasBubblewrap = failure === undefined
  const layers = ['language permissions']
  if (hasBubblewrap) layers.push('namespaces')
  if (hasBubblewrap || process.getuid?.() !== 0) layers.push('unprivileged user')
  layers.push(cgroups ? `cgroup v${cgroups.version}` : 'memory watch')
  const hints: string[] = []
  if (!hasBubblewrap)
    hints.push(
      `bubblewrap does not work here (${failure}): install the package "bubblewrap" and allow user namespaces.`,
    )
  if (!cgroups)
    hints.push(
      'no control groups: run the runtime as root, or with Delegate=yes in its systemd unit, for limits of memory, processor and processes by the kernel.',
    )
  return { ...base, hasBubblewrap, layers, hints }
}

/** @param folder with the sockets of the instance; the only thing of the host that can be written to */
function bubblewrapArgs({ deno, program }: Sandbox, folder: string | undefined): string[] {
  const isRoot = process.getuid?.() === 0
  const user = folder === undefined ? nobody : userOf(folder)
  const libraries = ['/lib', '/lib64', '/usr/lib', '/usr/lib64'].filter(existsSync)
  return [
    ...namespaces.map((each) => `--unshare-${each}`),
    ...(isRoot
      ? []
      : ['--unshare-user', '--uid', String(nobody), '--gid', String(nobody), '--cap-drop', 'ALL']),
    '--die-with-parent',
    '--new-session',
    '--hostname',
    'function',
    '--clearenv',
    ...[
      '--setenv',
      'DENO_DIR',
      '/tmp/deno',
      '--setenv',
      'NO_COLOR',
      '1',
      '--setenv',
      'DENO_NO_UPDATE_CHECK',
      '1',
    ],
    // Folders that bubblewrap makes on the way are for root only, unless they are made first.
    ...['--perms', '0755', '--dir', '/usr'],
    ...libraries.flatMap((each) => ['--ro-bind', each, each]),
    ...['--ro-bind', deno, '/deno', '--ro-bind', program, '/program.js'],
    ...(isRoot ? ['--ro-bind', '/usr/bin/setpriv', '/setpriv'] : []),
    ...['--proc', '/proc', '--dev', '/dev', '--size', '16777216', '--perms', '1777', '--tmpfs', '/tmp'],
    ...(folder === undefined ? [] : ['--bind', folder, '/instance']),
    ...['--remount-ro', '/', '--chdir', '/'],
    // Mounts need root where there are no user namespaces; the program itself never has it.
    ...(isRoot
      ? [
          '/setpriv',
          `--reuid=${user}`,
          `--regid=${user}`,
          '--clear-groups',
          '--inh-caps=-all',
          '--bounding-set=-all',
          '--',
        ]
      : []),
  ]
}

function denoArgs(
  { deno, program }: Pick<Sandbox, 'deno' | 'program'>,
  folder: string,
  memoryMb: number,
): string[] {
  const paths = Object.values(sockets).map((name) => `${folder}/${name}`)
  return [
    deno,
    'run',
    '--quiet',
    '--no-prompt',
    '--no-remote',
    '--no-npm',
    '--no-config',
    '--no-lock',
    '--cached-only',
    `--v8-flags=--max-old-space-size=${Math.floor(memoryMb * heapShare)}`,
    `--allow-net=${[...paths.map((path) => `unix:${path}`), runtimeHost].join(',')}`,
    `--allow-read=${paths.join(',')}`,
    `--allow-write=${paths.join(',')}`,
    program,
    ...paths,
  ]
}

export interface CommandLine {
  readonly file: string
  readonly args: readonly string[]
}

/**
 * The command that starts the host program in its sandbox. A shell puts itself into the control group and limits files before
 * it becomes the sandbox: so there is no moment in which the program is not held.
 */
export function commandLine(
  sandbox: Sandbox,
  folder: string,
  memoryMb: number,
  joinFiles: readonly string[],
): CommandLine {
  const held = sandbox.hasBubblewrap
    ? [
        'bwrap',
        ...bubblewrapArgs(sandbox, folder),
        ...denoArgs({ deno: '/deno', program: '/program.js' }, '/instance', memoryMb),
      ]
    : ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', ...denoArgs(sandbox, folder, memoryMb)]
  const script = `for f in ${joinFiles.map((each) => `'${each}'`).join(' ')}; do echo $$ > "$f" || exit 70; done; ulimit -f ${maxFileBlocks}; ulimit -c 0; exec "$@"`
  return { file: '/bin/sh', args: ['-c', script, 'sh', ...held] }
}
