/** The sandbox of Linux: namespaces, users and control groups, as far as the machine has them. */
import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { bubblewrapArgs, setpriv } from './bubblewrap.ts'
import { type Cgroups, openCgroups } from './cgroup.ts'
import { cgroupHint } from './cgroup-hint.ts'
import { inheritableDescriptors } from './descriptors.ts'
import { memoryOfTree } from './memory.ts'
import { firstUser, type Sandbox, unavailable } from './sandbox.ts'

/**
 * Finds the layers of this machine. What is not installed is left out and reported; what is installed and fails is an error,
 * so that no function ever runs with less isolation than the machine can give.
 *
 * @throws RpcError `engine_unavailable`
 */
export async function findLinuxSandbox(deno: string, program: string, cgroupName: string): Promise<Sandbox> {
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
    hints.push(`${withoutNamespaces(isRoot, hasOwnUser)}: for namespaces: sudo apt-get install -y bubblewrap`)
  if (!cgroups) hints.push(cgroupHint())
  const hasSockets = !isRoot || hasBubblewrap || hasOwnUser
  if (!hasSockets)
    hints.push('Functions have no TCP connections as processes of root: install the package "bubblewrap".')
  const inheritable = inheritableDescriptors()
  return {
    ...{ deno, program, cgroups, hasBubblewrap, hasOwnUser, hasSockets, inheritable, layers, hints },
    // `--pdeathsig` and `--die-with-parent`.
    needsLifeline: false,
    hold: (args, mounts) =>
      hasBubblewrap
        ? ['bwrap', ...bubblewrapArgs({ deno, program }, mounts), ...args]
        : setprivArgs(args, mounts.user),
    memoryOf: async (pid) => memoryOfTree(pid),
    memoryCheckMs: 500,
  }
}

function withoutNamespaces(isRoot: boolean, hasOwnUser: boolean): string {
  if (hasOwnUser) return 'Functions run as users of their own (uid 1879048192 and up), without namespaces'
  if (isRoot)
    return 'Functions are processes of root (uid 0), and only language permissions keep them from the files of this machine'
  return `Functions run as the user of the runtime (uid ${process.getuid?.()}), and only language permissions keep them from its files`
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
      'The function starts once they work again: free file descriptors or memory, or restart the runtime.',
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

/** Without namespaces: another user if the runtime is root, and an end with the runtime. */
const setprivArgs = (program: readonly string[], user: number | undefined): string[] => [
  setpriv,
  ...(user === undefined
    ? []
    : [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--inh-caps=-all', '--bounding-set=-all']),
  '--pdeathsig',
  'KILL',
  '--no-new-privs',
  ...program,
]
