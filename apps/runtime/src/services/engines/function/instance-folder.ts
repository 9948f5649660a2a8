/**
 * Folders of the sockets between the runtime and its function instances. An instance can write into one of them only until its
 * socket is taken over from there, which is before its code is loaded. From then on it can change no name that the runtime follows.
 */
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { removeFolder } from '../remove-folder.ts'

/** Bytes that a socket's path may have (`sun_path` without its end): 108 on Linux, 104 on macOS and BSD. */
const maxPath = process.platform === 'linux' ? 107 : 103

export interface InstanceFolder {
  readonly path: string
  /** The runtime's sockets that the program connects to. */
  readonly control: string
  readonly host: string
  /** Where the program opens its own socket, as `service`; gone once the runtime has moved it. */
  readonly start: string
  /** The program's socket after the runtime has moved it. */
  readonly service: string
  /** Lets the instance's user connect to one of the runtime's sockets. */
  share(socket: string): void
  /** Moves the program's socket out of its reach. @throws Error if it is not a socket, or not alone */
  takeOver(): void
  remove(): void
}

/** The folder of all instances of one run: made under a name that cannot be foreseen, and noted so that the next run finds it. */
export function createRunFolder(noteFile: string): string {
  // Without links: Deno compares the paths that a function may use, and the folder of macOS is below one.
  const path = mkdtempSync(join(realpathSync(tmpdir()), 'selvedge-'))
  try {
    if (process.getuid?.() === 0) chmodSync(path, 0o711)
    writeFileSync(noteFile, path, { mode: 0o600 })
    return path
  } catch (cause) {
    // Nothing would remove it later: each attempt on a full disk would leave another one.
    rmdirSync(path)
    throw cause
  }
}

/** Removes the folder of an earlier run, with the instances that it left. */
export function removeRunFolder(path: string): void {
  for (const each of readdirSync(path)) unlock(join(path, each))
  rmSync(path, { recursive: true, force: true })
}

function unlock(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) chmodSync(path, 0o700)
}

/** The folder that an earlier run left, if it is still this user's. */
export function findRunFolder(noteFile: string): string | undefined {
  try {
    const path = readFileSync(noteFile, 'utf8')
    if (!/^selvedge-[0-9A-Za-z]{6}$/.test(basename(path)) || path !== join(dirname(path), basename(path)))
      return undefined
    const found = lstatSync(path)
    return found.isDirectory() && found.uid === process.getuid?.() ? path : undefined
  } catch {
    return undefined
  }
}

/**
 * @param path of the folder; it is made
 * @param user who the program runs as, if that is another user than the runtime's
 * @param isLocked whether nothing may be made or removed in it while the program runs: needed where that is the same user, and
 *   without namespaces
 */
export function createInstanceFolder(
  path: string,
  user: number | undefined,
  isLocked = false,
): InstanceFolder {
  const own: InstanceFolder = {
    path,
    control: join(path, 'control'),
    host: join(path, 'host'),
    start: join(path, 'start'),
    service: join(path, 'service'),
    share(socket) {
      chmodSync(socket, 0o660)
      if (user !== undefined) chownSync(socket, 0, user)
    },
    takeOver() {
      renameSync(join(own.start, 'service'), own.service)
      if (!lstatSync(own.service).isSocket()) throw new Error('the program opened no socket')
      rmdirSync(own.start)
      // Deno lets the program keep the path of the host socket: it could put something else there.
      if (isLocked) chmodSync(path, 0o500)
    },
    remove() {
      if (isLocked) unlock(path)
      removeFolder(path, ['control', 'host', 'service', 'start/service', 'start'])
    },
  }
  const longest = join(own.start, 'service')
  if (Buffer.byteLength(longest) > maxPath)
    throw new Error(`${longest} is too long for a socket: set TMPDIR to a folder with a shorter name`)
  mkdirSync(path, { mode: 0o700 })
  try {
    mkdirSync(own.start, { mode: 0o700 })
    if (user !== undefined) {
      // Its group may pass through, and write nothing.
      chownSync(path, 0, user)
      chmodSync(path, 0o710)
      chownSync(own.start, user, user)
    }
    return own
  } catch (cause) {
    own.remove()
    throw cause
  }
}
