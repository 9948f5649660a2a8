/**
 * The folder with a daemon's keys and data. Only its owner may enter it, so nothing in it is reachable for other users, whatever
 * the mode of a single file. `runService` sets the umask to 077 as well: files that are created without a mode are private, too.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  type Stats,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../config/index.ts'
import { takeLock } from './folder-lock.ts'
import { makeFolder } from './make-folder.ts'
import { StoreError } from './store-error.ts'

/** Names by which a folder is known to be a state folder. */
const ownNames = [
  'runtime',
  'identity',
  'discovery',
  'stack.json',
  'runtime.sock',
  'admin.sock',
  'api-key',
  'login.json',
]
const groupAndOthers = 0o077
/** The right of group and others to write. */
const writable = 0o022
/** The bit of folders that users share, such as /tmp. */
const sticky = 0o1000

/**
 * Makes the state folder and a folder of the program's own in it, both with mode 0700. An existing state folder that is open to
 * other users is narrowed, with every file and folder in it. Sockets keep their mode.
 *
 * @param state path of the state folder
 * @param name folder of the program in it; undefined for none
 * @param warn logs that a folder was narrowed
 * @returns the path of the program's folder, or of the state folder where no name is given
 * @throws ConfigError when the folder can't be created, is another user's, or is open to other users and holds other files
 * @throws StoreError when the disk is full, or the like
 */
export function openStateFolder(
  state: string,
  name: string | undefined,
  warn: (message: string) => void,
): string {
  expectShortEnough(state)
  expectUsable(state, () => makeFolder(state))
  // Not lstat: a person may have chosen a symbolic link as the state folder.
  const found = statSync(state)
  const uid = process.getuid?.() ?? found.uid
  if (found.uid !== uid)
    throw new ConfigError(
      `the state folder ${state} belongs to user ${found.uid}, and this program runs as user ${uid}. ` +
        `Choose another folder (SELVEDGE_STATE), or give it to this user: chown -R ${uid} ${state}`,
    )
  if (found.mode & groupAndOthers) {
    expectOwn(state, found)
    narrowWhole(state, found, uid)
    warn(
      `the state folder ${state} was open to other users (mode ${modeOf(found)}); it and the files in it are private now`,
    )
  }
  if (name === undefined) return state
  const folder = join(state, name)
  expectUsable(state, () => makeFolder(folder))
  expectOwner(folder, statSync(folder).uid, uid)
  return folder
}

/**
 * Locks the folder of a program for this process.
 *
 * @returns releases it; the kernel does so as well when the process ends, however it ends
 * @throws StoreError when another process has it
 * @throws ConfigError when it cannot be written
 */
export function lockStateFolder(state: string, name: string): () => void {
  const taken = `another ${name} uses the state folder ${state}; stop it or choose another state folder`
  return expectUsable(state, () => takeLock(join(state, name, 'lock'), taken))
}

const modeOf = ({ mode }: Stats): string => `0${(mode & 0o7777).toString(8)}`

/** Longest path of a Unix socket in bytes, and the longest name of one in the state folder. */
const maxSocketPathBytes = 107
const socketName = 'runtime.sock'

function expectShortEnough(state: string): void {
  const socket = join(state, socketName)
  if (Buffer.byteLength(socket) <= maxSocketPathBytes) return
  throw new ConfigError(
    `the path of the state folder ${state} is too long: a Unix socket in it, ${socket}, has more than ${maxSocketPathBytes} bytes. ${whatToDo}`,
  )
}

/** Refusals of the system in words. */
const whys: Readonly<Record<string, string>> = {
  ENOENT: 'no folder can be created there',
  EEXIST: 'it is a file, or a link to nothing',
  ENOTDIR: 'a part of the path is a file',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENAMETOOLONG: 'the path is too long',
  ELOOP: 'the path is a loop of links',
}
const whatToDo = 'Choose another folder: SELVEDGE_STATE, or "state" in the configuration'

/** Runs an operation that the system may refuse, permanently or temporarily (a full disk, for example). */
function expectUsable<T>(state: string, use: () => T): T {
  try {
    return use()
  } catch (cause) {
    if (cause instanceof StoreError) throw cause
    const { code = '', message } = cause as NodeJS.ErrnoException
    const why = whys[code]
    if (why) throw new ConfigError(`can't use the state folder ${state}: ${why}. ${whatToDo}`, { cause })
    throw new StoreError(`can't use the state folder ${state}: ${message}`, { cause })
  }
}

/** A folder such as /tmp or /srv must not become private because it was configured as the state folder. */
function expectOwn(state: string, found: Stats): void {
  const names = readdirSync(state)
  const isOwn = names.length === 0 || names.some((each) => ownNames.includes(each))
  if (isOwn && !(found.mode & sticky)) return
  throw new ConfigError(
    `the folder ${state} is open to other users (mode ${modeOf(found)}) and holds other files. ` +
      `Choose a folder of its own as the state folder: SELVEDGE_STATE=${join(state, 'selvedge')}`,
  )
}

/** Narrows a state folder. Refused, its mode is as before: the next start must not take it for a private one. */
function narrowWhole(state: string, { mode }: Stats, uid: number): void {
  try {
    narrow(state, uid, (mode & writable) !== 0)
  } catch (cause) {
    chmodSync(state, mode & 0o7777)
    throw cause
  }
}

/**
 * Removes the rights of group and others from a folder, then from everything in it. Symbolic links are not followed.
 *
 * @param isSuspect whether others could write to it: then what another user put there is refused
 */
function narrow(folder: string, uid: number, isSuspect: boolean): void {
  narrowOne(folder, uid)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found && isSuspect) expectOwner(path, found.uid, uid)
    if (entry.isDirectory()) narrow(path, uid, isSuspect || ((found?.mode ?? 0) & writable) !== 0)
    else if (entry.isFile()) narrowOne(path, uid)
  }
}

/** What another user put into the state folder could lead what is written there elsewhere. */
function expectOwner(path: string, owner: number, uid: number): void {
  if (owner === uid) return
  throw new ConfigError(
    `${path} in the state folder belongs to user ${owner}, and this program runs as user ${uid}. ` +
      'Remove it if you do not know it, give it to this user (chown), or choose another folder (SELVEDGE_STATE)',
  )
}

function narrowOne(path: string, uid: number): void {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  let opened: number
  try {
    opened = openSync(path, flags)
  } catch (cause) {
    // Another daemon may narrow the same folder, and remove its own files meanwhile.
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw cause
  }
  try {
    const { mode, uid: owner } = fstatSync(opened)
    if (mode & groupAndOthers && owner === uid) fchmodSync(opened, mode & 0o700)
  } finally {
    closeSync(opened)
  }
}
