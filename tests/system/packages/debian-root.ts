/** A Debian without the clone: the machine of the tests below an overlay, in which packages are installed and started. */
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface DebianRoot {
  readonly path: string
  /** The path of a file of this Debian on the machine of the tests. */
  at(path: string): string
  remove(): void
}

/** @param folder in which it is made. Needs root and mounts */
export function makeDebianRoot(folder: string): DebianRoot {
  const [path, disk] = [join(folder, 'machine'), join(folder, 'disk')]
  for (const each of [path, disk]) mkdirSync(each)
  // An overlay on an overlay, such as a container's, needs a file system of its own for its upper folder.
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', disk])
  for (const each of ['upper', 'work']) mkdirSync(join(disk, each))
  const layers = `lowerdir=/,upperdir=${disk}/upper,workdir=${disk}/work`
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, path])
  const at = (each: string) => join(path, each)
  // The index of all manual pages of the machine is rebuilt for each change of packages otherwise.
  rmSync(at('var/lib/man-db/auto-update'), { force: true })
  // As on a machine where systemd runs.
  mkdirSync(at('run/systemd/system'), { recursive: true })
  return {
    path,
    at,
    remove: () => {
      for (const each of [path, disk]) spawnSync('umount', ['-R', '-l', each])
    },
  }
}

/** Where everything runs as root: a script starts the units in place of systemd, and `sudo -u` changes the user. */
export function addSystemTools({ at }: DebianRoot): void {
  for (const each of ['systemctl', 'deb-systemd-invoke'])
    copyFileSync(join(import.meta.dirname, 'day/systemctl'), at(`usr/bin/${each}`))
  writeFileSync(
    at('usr/bin/sudo'),
    '#!/bin/sh\nif [ "$1" = -u ]; then user=$2; shift 2; exec setpriv --reuid="$user" --regid="$user" --init-groups "$@"; fi\nexec "$@"\n',
    { mode: 0o755 },
  )
}
