/**
 * The user's configuration folder: $XDG_CONFIG_HOME/selvedge, or ~/.config/selvedge (XDG Base Directory Specification). It holds
 * what a state folder or a repository must not decide: sign-ins, and the addresses that the user confirmed.
 */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { isOwn } from '@selvedge/client/node'
import { UsageError, withPath } from '../failure.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Path of the folder; it may not exist yet. A relative $XDG_CONFIG_HOME is ignored, as the specification requires. */
export function configFolder(env: Env): string {
  const { XDG_CONFIG_HOME: configured = '', HOME: home = '' } = env
  if (isAbsolute(configured)) return join(configured, 'selvedge')
  return join(isAbsolute(home) ? home : homedir(), '.config/selvedge')
}

/** Of a file with keys or sign-ins. */
const maxBytes = 1_048_576

/**
 * Reads a file that only this user may read.
 *
 * @returns undefined if the file is missing
 * @throws UsageError for a symbolic link, a file of another user, or one that others can read or write
 */
export function readPrivateFile(path: string): string | undefined {
  const hint = `It must be a file of this user that no one else can read: chmod 600 ${path}`
  return readOwnFile(path, 0o077, hint)
}

/**
 * Reads a file of this user or of root, or one of an installed service.
 *
 * @param forbidden bits of its mode that may not be set
 * @param hint what to do instead
 * @param service user ID of the installed service that has to own the file: in its folder, a file of root is one that it linked there
 * @returns undefined where there is none
 * @throws UsageError for a symbolic link, a file of another user, or one with a forbidden mode
 */
export function readOwnFile(
  path: string,
  forbidden: number,
  hint: string,
  service?: number,
): string | undefined {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new UsageError(
      code === 'ELOOP' ? `${path} is a symbolic link` : `can't read ${path}: ${message}`,
      hint,
    )
  }
  try {
    const stat = fstatSync(file)
    const isTrusted = service === undefined ? isOwn(stat.uid) : stat.uid === service
    if (stat.isFile() && isTrusted && (stat.mode & forbidden) === 0) {
      if (stat.size <= maxBytes) return readFileSync(file, 'utf8')
      throw new UsageError(`${path} has ${stat.size} bytes, and not at most ${maxBytes}`, hint)
    }
    const mode = (stat.mode & 0o777).toString(8)
    throw new UsageError(`${path} is of user ${stat.uid} with mode ${mode}`, hint)
  } finally {
    closeSync(file)
  }
}

/**
 * Writes a file that only this user may read: the whole content or, after a crash, the content from before. The content is on
 * the disk when this returns.
 *
 * @throws UsageError when the folder belongs to another user, or others can write to it
 */
export function writePrivateFile(path: string, content: string): void {
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  checkFolder(folder)
  const draft = `${path}.${randomUUID()}`
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(draft, path)
  } catch (cause) {
    rmSync(draft, { force: true })
    throw withPath(cause, path)
  }
  syncFolder(folder)
}

/** Removes a file; the removal is on the disk when this returns. */
export function removePrivateFile(path: string): void {
  rmSync(path, { force: true })
  syncFolder(dirname(path))
}

function checkFolder(folder: string): void {
  const { uid, mode } = lstatSync(folder)
  if (uid === process.getuid?.() && (mode & 0o022) === 0) return
  throw new UsageError(
    `${folder} is of user ${uid} with mode ${(mode & 0o777).toString(8)}; it must be yours alone`,
    `chmod 700 ${folder}, or set XDG_CONFIG_HOME to a folder of yours`,
  )
}

function syncFolder(folder: string): void {
  let opened: number
  try {
    opened = openSync(folder, constants.O_RDONLY)
  } catch {
    return
  }
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}
