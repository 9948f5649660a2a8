/**
 * The sandbox of systems other than Linux: Deno's permissions, and what every POSIX shell has. What Linux adds, and what replaces it:
 *
 * - namespaces and users of their own: nothing; Deno alone separates a function from the files and the network of the user
 * - control groups: V8's limit of its heap, and a check of the process's memory every two seconds; no limits of processor and processes
 * - an end with the runtime: a pipe (`lifeline.ts`)
 * - a list of descriptors that a child would inherit: there are no such descriptors. libuv starts children with POSIX_SPAWN_CLOEXEC_DEFAULT on macOS
 */
import { residentMemory } from './resident-memory.ts'
import type { Sandbox } from './sandbox.ts'

export async function findPortableSandbox(deno: string, program: string): Promise<Sandbox> {
  const isRoot = process.getuid?.() === 0
  return {
    ...{ deno, program, cgroups: undefined, hasBubblewrap: false, hasOwnUser: false, inheritable: [] },
    hasSockets: !isRoot,
    needsLifeline: true,
    layers: ['language permissions', 'memory watch'],
    hints: [
      isRoot
        ? 'Functions are processes of root, and only language permissions keep them from the files of this machine: start the runtime as another user.'
        : `Functions run as the user of the runtime (uid ${process.getuid?.()}), and only language permissions keep them from its files. Namespaces and control groups need Linux: use this machine for development, and Linux in production.`,
      'Memory of functions is limited by the runtime, every two seconds; processor and processes are not limited (MCM.CPU, MCM.PIDS).',
      ...(isRoot ? ['Functions have no TCP connections as processes of root.'] : []),
    ],
    hold: (args) => args,
    memoryOf: (pid) => residentMemory(pid, deno),
    // Each check is a process.
    memoryCheckMs: 2000,
  }
}
