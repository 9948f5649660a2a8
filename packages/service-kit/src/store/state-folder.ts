/**
 * The folder with a daemon's keys and data. Only its owner may enter it, so nothing in it is reachable for other users, whatever
 * the mode of a single file. `runService` sets the umask to 077 as well: a file whose mode nobody thought of is private, too.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  type Stats,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../config/index.ts'
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
 * @throws StoreError when the disk is full
 */
export function openStateFolder(
  state: string,
  name: string | undefined,
  warn: (message: string) => void,
): string {
  makeFolder(state)
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
    narrow(state, uid)
    warn(
      `the state folder ${state} was open to other users (mode ${modeOf(found)}); it and the files in it are private now`,
    )
  }
  if (name === undefined) return state
  const folder = join(state, name)
  makeFolder(folder)
  return folder
}

const modeOf = ({ mode }: Stats): string => `0${(mode & 0o7777).toString(8)}`

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const words = `can't create the state folder ${path}: ${message}`
    if (code === 'ENOSPC' || code === 'EDQUOT') throw new StoreError(words, { cause })
    throw new ConfigError(`${words}. Choose another folder: SELVEDGE_STATE, or state in the configuration`)
  }
}

/** A folder such as /tmp or /srv must not become private because somebody named it as the state folder. */
function expectOwn(state: string, found: Stats): void {
  const names = readdirSync(state)
  const isOwn = names.length === 0 || names.some((each) => ownNames.includes(each))
  if (isOwn && !(found.mode & sticky)) return
  throw new ConfigError(
    `the folder ${state} is open to other users (mode ${modeOf(found)}) and holds other files. ` +
      `Choose a folder of its own as the state folder: SELVEDGE_STATE=${join(state, 'selvedge')}`,
  )
}

/** Takes the rights of group and others from a folder and everything below it. Symbolic links are not followed. */
function narrow(folder: string, uid: number): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) narrow(path, uid)
    else if (entry.isFile()) narrowOne(path, uid)
  }
  narrowOne(folder, uid)
}

function narrowOne(path: string, uid: number): void {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const opened = openSync(path, flags)
  try {
    const { mode, uid: owner } = fstatSync(opened)
    if (mode & groupAndOthers && owner === uid) fchmodSync(opened, mode & 0o700)
  } finally {
    closeSync(opened)
  }
}
