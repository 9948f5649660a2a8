/**
 * The secrets of an instance as files, which the container gets as a read-only mount at `/run/secrets`. They are in memory: no value is in
 * clear on the disk. Every user in the container can read them, as programs read them after they gave up root; the folder above
 * them is of mode 0700, so no other user of the device can.
 */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { makeTransientFolder } from '@selvedge/service-kit/store'
import type { ServiceSecret } from '../../secrets/secrets.ts'

/** Types of file systems in memory, as statfs(2) names them: tmpfs, ramfs. */
const inMemory = [0x01021994, 0x858458f6]

const isInMemory = (path: string): boolean => {
  try {
    return inMemory.includes(statfsSync(path).type)
  } catch {
    return false
  }
}

/** Folders for files of a program that runs, the best first: that of the unit, that of the system, that of the user. */
const candidates = (): string[] => {
  const { RUNTIME_DIRECTORY: ofUnit, XDG_RUNTIME_DIR: ofUser } = process.env
  const isRoot = process.getuid?.() === 0
  return [ofUnit?.split(':')[0], isRoot ? '/run' : undefined, ofUser, '/dev/shm'].filter(
    (each): each is string => each !== undefined && each !== '',
  )
}

const folderIn = (parent: string, owner: string): string => join(parent, `selvedge-secrets-${owner}`)

/** Where the folder of all secret files of a runtime may be. */
export const secretsFolders = (owner: string): string[] => candidates().map((each) => folderIn(each, owner))

/**
 * The folder of all secret files of this runtime, mode 0700.
 *
 * @param owner distinguishes the runtime from others
 * @throws RpcError `engine_unavailable` if no folder is in memory, or another user made it
 */
export function secretsFolder(owner: string, folders: readonly string[] = candidates()): string {
  const parent = folders.find(isInMemory)
  if (parent === undefined)
    throw new RpcError(
      'engine_unavailable',
      `the device has no folder in memory for secrets: ${folders.join(', ')} are on a disk`,
      {
        hint:
          process.platform === 'linux'
            ? 'Mount a tmpfs at /dev/shm.'
            : 'Containers get secrets on Linux only; functions get them here, too.',
      },
    )
  const path = folderIn(parent, owner)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  }
  // Others may make files in the folder above.
  const found = lstatSync(path)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
    throw new RpcError(
      'engine_unavailable',
      `${path} is not a folder of the user of the runtime with mode 0700`,
      {
        hint: 'Another program made it. Remove it; the start is tried again.',
      },
    )
  return path
}

/** Removes the files of all instances but some, and the folder if nothing stays. Never throws. @param names of those that stay */
export function removeOtherFiles(owner: string, names: ReadonlySet<string>): void {
  try {
    const parent = secretsFolder(owner)
    for (const each of readdirSync(parent))
      if (!names.has(each)) rmSync(join(parent, each), { recursive: true, force: true })
    if (names.size === 0) rmSync(parent, { recursive: true, force: true })
  } catch {
    // Without a folder in memory there are no files.
  }
}

export interface SecretFiles {
  readonly path: string
  /** Replaces the files, each as a whole. A container that has mounted the folder sees the new ones. */
  replace(secrets: readonly ServiceSecret[]): void
  /** Never throws. */
  remove(): void
}

/** The folder of one instance. One that exists is used as it is: an adopted container has mounted it. */
export function openSecretFiles(parent: string, name: string): SecretFiles {
  const path = join(parent, name)
  makeTransientFolder(path)
  chmodSync(path, 0o755)
  return {
    path,
    replace(secrets) {
      const names = new Set(secrets.map(({ file }) => file))
      for (const { file, value } of secrets) {
        // No name of a secret begins with a dot.
        const draft = join(path, `.${file}`)
        writeFileSync(draft, value, { mode: 0o444 })
        chmodSync(draft, 0o444)
        renameSync(draft, join(path, file))
      }
      for (const each of readdirSync(path)) if (!names.has(each)) rmSync(join(path, each), { force: true })
    },
    remove() {
      try {
        rmSync(path, { recursive: true, force: true })
      } catch {
        // What is left is removed with the folder above, or by the next start.
      }
    },
  }
}
