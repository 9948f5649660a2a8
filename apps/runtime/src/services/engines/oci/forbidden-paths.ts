/** What no container gets of the device, whatever its configuration grants: a mistake there must not give the device away. */
import { realpathSync, type Stats, statfsSync, statSync } from 'node:fs'
import type { HeldPath } from './held-path.ts'

/** Neither these, nor what is in them, nor a folder that they are in. */
const always = [
  '/proc',
  '/sys',
  '/dev',
  '/boot',
  '/etc/gshadow',
  '/etc/selvedge',
  '/etc/shadow',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/root/.ssh',
  '/run/balena-engine.sock',
  '/run/containerd',
  '/run/containers',
  '/run/crio',
  '/run/docker',
  '/run/docker.sock',
  '/run/podman',
  '/run/secrets',
  '/run/selvedge',
  '/run/systemd',
  '/run/user',
  '/var/lib/containers',
  '/var/lib/docker',
  '/var/lib/selvedge',
] as const

/** File systems of the kernel, as statfs(2) names them, wherever they are mounted: what is in them is the device itself. */
const ofKernel: Readonly<Record<number, string>> = {
  40864: 'proc',
  1650812274: 'sysfs',
  1684170528: 'debugfs',
  1953653091: 'tracefs',
  1935894131: 'securityfs',
  3405662737: 'bpf',
  3730735588: 'efivarfs',
  2613483: 'cgroup',
  1667723888: 'cgroup2',
  7377: 'devpts',
  1650812272: 'configfs',
  1634035564: 'pstore',
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

const real = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** What this user cannot look at is nothing that it could have opened. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(code)) return undefined
    throw cause
  }
}

const isSame = ({ stats }: HeldPath, path: string): boolean => {
  const found = statsOf(path)
  return found !== undefined && found.dev === stats.dev && found.ino === stats.ino
}

/**
 * @param own paths of this runtime and of its engine, which are forbidden, too
 * @returns why a container may not have it; undefined if it may
 */
export function whyForbidden(held: HeldPath, own: readonly string[]): string | undefined {
  const { path, link } = held
  if (path === '/') return 'it is the root of the device'
  const fileSystem = ofKernel[statfsSync(link).type]
  if (fileSystem !== undefined) return `it is in the file system ${fileSystem} of the kernel`
  const paths = [...always, ...own].flatMap((each) => [each, real(each)])
  const inside = paths.find((each) => isWithin(path, each))
  if (inside !== undefined) return `it is in ${inside}, which no container gets`
  const around = paths.find((each) => isWithin(each, path))
  if (around !== undefined) return `${around} is in it, which no container gets`
  // By another name, such as a bind mount.
  const same = paths.find((each) => isSame(held, each))
  return same === undefined ? undefined : `it is ${same}, which no container gets`
}
