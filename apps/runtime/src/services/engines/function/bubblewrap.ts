/** The namespaces of an instance: a separate root, in which nothing can be written. */
import { existsSync } from 'node:fs'
import { environment, type Mounts } from './sandbox.ts'

/** The unprivileged user of Linux. */
const nobody = 65_534

/** Debian's util-linux, which every system has. Not from `PATH`: it may run as root. */
export const setpriv = '/usr/bin/setpriv'

/** No user namespace where the runtime is root: mounting needs root then, and the program gets another user instead. */
const namespaces = ['ipc', 'pid', 'net', 'uts', 'cgroup-try']

export function bubblewrapArgs(
  { deno, program }: { readonly deno: string; readonly program: string },
  { user, sockets }: Mounts,
): string[] {
  const libraries = ['/lib', '/lib64', '/usr/lib', '/usr/lib64'].filter(existsSync)
  const readOnly = (from: string, to: string) => ['--ro-bind', from, to]
  return [
    ...namespaces.map((each) => `--unshare-${each}`),
    ...(user === undefined
      ? ['--unshare-user', '--uid', String(nobody), '--gid', String(nobody), '--cap-drop', 'ALL']
      : []),
    '--die-with-parent',
    '--new-session',
    '--hostname',
    'function',
    '--clearenv',
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    // Folders that bubblewrap makes on the way are for root only, unless they are made first.
    ...['--perms', '0755', '--dir', '/usr'],
    ...libraries.flatMap((each) => readOnly(each, each)),
    ...readOnly(deno, '/deno'),
    ...readOnly(program, '/program.js'),
    ...(user === undefined ? [] : readOnly(setpriv, '/setpriv')),
    ...['--proc', '/proc', '--dev', '/dev', '--remount-ro', '/dev'],
    ...(sockets
      ? [
          ...readOnly(sockets.control, '/control'),
          ...readOnly(sockets.host, '/host'),
          ...['--bind', sockets.start, '/start'],
        ]
      : []),
    ...['--remount-ro', '/', '--chdir', '/'],
    // Mounts need root where there are no user namespaces; the program itself never has it.
    ...(user === undefined
      ? []
      : [
          '/setpriv',
          `--reuid=${user}`,
          `--regid=${user}`,
          '--clear-groups',
          '--inh-caps=-all',
          '--bounding-set=-all',
          '--',
        ]),
  ]
}
