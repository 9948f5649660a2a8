/** Puts the release of a tarball into an installation of several releases (`packaging/launcher/choose-release`). */
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { cp } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { UsageError } from '../../failure.ts'
import { isVersion } from '../../release/statement.ts'
import { removeLink, setLink, syncTree } from '../../upgrade/durable.ts'
import { placeRelease } from '../../upgrade/installation.ts'
import { locked } from '../../upgrade/lock.ts'
import type { OnProgress } from '../../upgrade/stage.ts'

/**
 * Copies a release, so that only root can change what the service runs.
 *
 * @param from folder of the release
 * @param prefix folder of the installation; it is made
 * @param onProgress called with the bytes copied so far, and the total
 * @returns real path of the installation
 * @throws UsageError if another user can change the folder, or a unit cannot have its path
 */
export async function installRelease(
  from: string,
  prefix: string,
  onProgress: OnProgress = () => undefined,
): Promise<string> {
  const folder = makeFolder(resolve(prefix))
  makeFolder(join(folder, 'releases'))
  await locked(folder, () => copyRelease(from, folder, onProgress))
  return folder
}

async function copyRelease(from: string, folder: string, onProgress: OnProgress): Promise<void> {
  const releases = join(folder, 'releases')
  const version = readFileSync(join(from, 'VERSION'), 'utf8').trim()
  if (!isVersion(version)) throw new Error(`${join(from, 'VERSION')} has no version`)
  const work = mkdtempSync(join(releases, '.install-'))
  try {
    const tree = join(work, 'tree')
    // With its times: that of VERSION is the least time at which an upgrade can happen.
    const filter = reporting(sizeOf(from), onProgress)
    await cp(from, tree, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true, filter })
    closeToOthers(tree)
    syncTree(tree)
    cpSync(join(tree, 'systemd/choose-release'), join(work, 'choose-release'))
    placeRelease(releases, version, tree)
    renameSync(join(work, 'choose-release'), join(folder, 'choose-release'))
    for (const link of ['untried', 'trial']) removeLink(join(folder, link))
    setLink(join(folder, 'current'), join('releases', version))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** A filter that copies everything, and reports the bytes of the files before each one. */
function reporting(totalBytes: number, onProgress: OnProgress): (path: string) => boolean {
  let doneBytes = 0
  return (path) => {
    onProgress(doneBytes, totalBytes)
    const found = lstatSync(path)
    if (found.isFile()) doneBytes += found.size
    return true
  }
}

/** Bytes of all files below a folder. */
function sizeOf(path: string): number {
  const found = lstatSync(path)
  if (!found.isDirectory()) return found.isFile() ? found.size : 0
  return readdirSync(path).reduce((sum, each) => sum + sizeOf(join(path, each)), 0)
}

/**
 * Makes a folder and those above it, each only in a folder that root alone can change. A link in such a folder is followed.
 *
 * @returns its real path
 */
function makeFolder(path: string): string {
  if (path === dirname(path)) return expectRootAlone(path)
  const own = join(makeFolder(dirname(path)), basename(path))
  expectPath(own)
  const found = lstatSync(own, { throwIfNoEntry: false })
  // A link that leads nowhere, or to itself, is an error here.
  if (found?.isSymbolicLink()) return makeFolder(realpathSync(own))
  if (!found) mkdirSync(own, { mode: 0o755 })
  return expectRootAlone(own)
}

/** Puts a command into PATH, unless there is another one. A link that leads nowhere is of an installation that was removed. */
export function linkCommand(path: string, target: string): void {
  if (!existsSync(path)) setLink(path, target)
}

/** Removes the right of group and others to write: the archive may have been unpacked with any umask. */
function closeToOthers(path: string): void {
  const found = lstatSync(path)
  if (found.isSymbolicLink()) return
  chmodSync(path, (found.mode & 0o755) | 0o044 | (found.mode & 0o100 ? 0o011 : 0))
  if (found.isDirectory()) for (const each of readdirSync(path)) closeToOthers(join(path, each))
}

/** @returns the path @throws UsageError if others than root can change it */
function expectRootAlone(path: string): string {
  const found = lstatSync(path)
  const { uid, mode } = found
  if (found.isDirectory() && uid === 0 && (mode & 0o022) === 0) return path
  throw new UsageError(
    `${path} can be changed by others than root (user ${uid}, mode ${(mode & 0o7777).toString(8)}), and the service would run what they put there`,
    'Choose a folder of root: --prefix /opt/selvedge',
  )
}

function expectPath(folder: string): void {
  if (/^(?:\/[\w.+~-]+)+$/.test(folder)) return
  throw new UsageError(
    `the path ${JSON.stringify(folder)} has characters that a systemd unit cannot have`,
    'Choose a folder of letters, digits, dots and hyphens: --prefix /opt/selvedge',
  )
}
