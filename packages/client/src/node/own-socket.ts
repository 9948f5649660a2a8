/**
 * The user that listens on a Unix socket. Node does not give the credentials of a peer (SO_PEERCRED), so this reads who owns the
 * socket and its folder: only the owner of a folder, or root, can put a socket into one that others cannot write to. A repository
 * or an archive can bring files and links, but no socket that something listens on.
 */
import { constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Folders that an installed service has its sockets in. Their parents belong to root, so only root can have created them, for the
 * user of the service.
 */
export const installedFolders = { runtime: '/run/selvedge', identity: '/var/lib/selvedge-identity' } as const

export type SocketFinding =
  | { readonly state: 'absent' }
  /** Something that must not be used: a link, or a place that others can write to. */
  | { readonly state: 'refused'; readonly reason: string }
  | {
      /** `own`: of this user or root. `foreign`: of another user. */
      readonly state: 'own' | 'foreign'
      readonly path: string
      /** Numeric ID of the user that owns the socket. */
      readonly uid: number
      /** Path of another file of the same folder. */
      readonly beside: (name: string) => string
    }

/**
 * Checks a socket in a state folder, without connecting to it. The folder is held open, and the returned path leads
 * through it: who replaces the folder later changes nothing.
 *
 * @param installed folders of installed services; for tests
 * @param named whether the user named the folder; one that was merely found must not be a symbolic link
 */
export function findSocket(
  folder: string,
  name: string,
  { named, installed = Object.values(installedFolders) }: { named: boolean; installed?: readonly string[] },
): SocketFinding {
  const opened = openFolder(folder, named)
  if (typeof opened !== 'number') return opened
  // Linux leads through the open folder; elsewhere the folder is looked up again.
  const base = process.platform === 'linux' ? `/proc/self/fd/${opened}` : folder
  const problem = problemOf(fstatSync(opened), folder)
  let socket: Stats
  try {
    socket = lstatSync(join(base, name))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return { state: 'absent' }
    return { state: 'refused', reason: (cause as Error).message }
  }
  if (problem !== undefined) return { state: 'refused', reason: problem }
  if (!socket.isSocket())
    return {
      state: 'refused',
      reason: `${join(folder, name)} is ${socket.isSymbolicLink() ? 'a symbolic link' : 'no socket'}`,
    }
  const owner = fstatSync(opened).uid
  const users = [owner, socket.uid]
  const isTrusted = isInstalled(folder, opened, installed)
    ? (uid: number) => isOwn(uid) || uid === owner
    : isOwn
  const foreign = users.find((uid) => !isTrusted(uid))
  return {
    state: foreign === undefined ? 'own' : 'foreign',
    path: join(base, name),
    uid: foreign ?? socket.uid,
    beside: (other) => join(base, other),
  }
}

/** Whether an opened folder is one of an installed service, with a parent that only root can change. */
function isInstalled(folder: string, opened: number, installed: readonly string[]): boolean {
  const path = resolve(folder)
  if (!installed.includes(path)) return false
  const parent = lstatSync(join(path, '..'))
  const named = lstatSync(path)
  const { dev, ino } = fstatSync(opened)
  return parent.uid === 0 && (parent.mode & 0o022) === 0 && named.dev === dev && named.ino === ino
}

/** Whether a file of that owner is of this user or root. */
export const isOwn = (uid: number): boolean => uid === 0 || uid === process.getuid?.()

function openFolder(folder: string, named: boolean): number | SocketFinding {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  try {
    return openSync(folder, O_RDONLY | O_DIRECTORY | (named ? 0 : O_NOFOLLOW))
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return { state: 'absent' }
    const isLink = code === 'ENOTDIR' || code === 'ELOOP'
    const reason = isLink && !named ? `${folder} is a symbolic link, or no folder` : message
    return { state: 'refused', reason }
  }
}

const problemOf = ({ mode }: Stats, folder: string): string | undefined =>
  (mode & 0o022) === 0
    ? undefined
    : `other users can write to ${folder} (mode ${(mode & 0o777).toString(8)}): chmod go-w ${folder}`
