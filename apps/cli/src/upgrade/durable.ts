/** Changes of files and links that a power cut leaves as before or after. */
import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** @param path a file or a folder */
export function sync(path: string): void {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Every file and folder below a folder, and the folder itself: contents before the names that lead to them. */
export function syncTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) syncTree(path)
    else if (entry.isFile()) sync(path)
  }
  sync(folder)
}

/** Makes or replaces a link. */
export function setLink(path: string, target: string): void {
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  symlinkSync(target, draft)
  renameSync(draft, path)
  sync(dirname(path))
}

export function removeLink(path: string): void {
  rmSync(path, { force: true })
  sync(dirname(path))
}

/** Undefined if there is no link. One call: between two, another process may remove it. */
export function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EINVAL') return undefined
    throw cause
  }
}
