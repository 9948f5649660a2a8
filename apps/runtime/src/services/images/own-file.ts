/** Files of the runtime that are found on the disk, and are not trusted. */
import type { Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** Bytes that are read at once. */
const readBytes = 256 * 1024

/** No link, folder or pipe, and no file that another user has or that has another name. */
export const isOwnFile = (found: { isFile(): boolean; uid: number; nlink: number }): boolean =>
  found.isFile() && found.uid === (process.geteuid?.() ?? found.uid) && found.nlink === 1

/** Codes of an open of a symbolic link, a folder, a socket, and a file of another user. */
const noOwnFile: ReadonlySet<string> = new Set(['ELOOP', 'EISDIR', 'ENXIO', 'EACCES'])

/**
 * Opens a file for reading and writing.
 *
 * @param flags beyond that, such as O_CREAT
 * @returns undefined if it is no regular file of this user
 * @throws NodeJS.ErrnoException, such as ENOENT
 */
export async function openOwnFile(path: string, flags = 0): Promise<FileHandle | undefined> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants
  const handle = await open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | flags, 0o600).catch((cause) => {
    if (noOwnFile.has(cause.code)) return undefined
    throw cause
  })
  if (handle && isOwnFile(await handle.stat())) return handle
  await handle?.close()
  return undefined
}

/** Hashes the first bytes of a file; fewer if another process cut it short. */
export async function hashStart(handle: FileHandle, bytes: number, digest: Hash): Promise<void> {
  const buffer = Buffer.alloc(readBytes)
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, bytes - at), at)
    if (bytesRead === 0) return
    digest.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}
