/**
 * Files that a Compose file names: they lie in its folder or below, are regular files, and no part of their path is a link. So a file of
 * a stranger makes no other file of the user part of an app.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { reasonOf } from '../failure.ts'
import { composeLimits } from './limits.ts'
import { shown } from './report.ts'

/** A file that is not read; the message has the reason, and what to do. */
export class FileRefusal extends Error {
  override readonly name = 'FileRefusal'
  /** Whether there is no such file. */
  readonly isMissing: boolean
  constructor(message: string, isMissing = false) {
    super(message)
    this.isMissing = isMissing
  }
}

export interface FolderFiles {
  /**
   * @param path as the file has it
   * @param from absolute path of the folder that it begins at
   * @throws FileRefusal
   */
  readonly read: (path: string, from: string, maxBytes: number) => FolderFile
  /**
   * The files in a folder and those below it, sorted.
   *
   * @throws FileRefusal for a folder with something else in it, such as a link, or with too many entries
   */
  readonly list: (path: string, from: string) => FolderList
  /** What a path leads to, if it is in the folder: links are not followed. */
  readonly kindOf: (path: string, from: string) => 'file' | 'folder' | 'other' | 'missing' | 'outside'
}

interface FolderList {
  /** Paths below the folder. */
  readonly files: readonly string[]
  /** Bytes of all of them. */
  readonly bytes: number
}

interface FolderFile {
  readonly bytes: Buffer
  /** Whether its owner may execute it. */
  readonly isProgram: boolean
  /** Below the folder, without `.` and `..`. */
  readonly path: string
}

/** @param folder absolute path; it may be a link itself, as the user named it */
export function openFolder(folder: string): FolderFiles {
  const root = realpathSync(folder)
  const used = { files: 0, bytes: 0 }
  const inside = (path: string, from: string): string | undefined => {
    if (isAbsolute(path) || path.includes('\0') || path === '') return undefined
    const absolute = resolve(root, relative(folder, from), path)
    return absolute.startsWith(root === sep ? root : root + sep) ? absolute : undefined
  }
  return {
    kindOf: (path, from) => {
      const absolute = inside(path, from)
      if (absolute === undefined) return 'outside'
      const found = lstatSync(absolute, { throwIfNoEntry: false })
      if (!found) return 'missing'
      return found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other'
    },
    list: (path, from) => {
      const absolute = inside(path, from)
      if (absolute === undefined || realpathSync(absolute) !== absolute) throw new FileRefusal(elsewhere)
      return listFolder(absolute)
    },
    read: (path, from, maxBytes) => {
      const absolute = inside(path, from)
      if (absolute === undefined) throw new FileRefusal(elsewhere)
      used.files += 1
      if (used.files > composeLimits.files)
        throw new FileRefusal(`The app has more than ${composeLimits.files} files. Use fewer.`)
      const { bytes, isProgram } = readRegular(absolute, maxBytes)
      used.bytes += bytes.length
      if (used.bytes > composeLimits.allBytes)
        throw new FileRefusal(
          `The files of the app have more than ${composeLimits.allBytes} bytes. Use smaller ones.`,
        )
      return { bytes, isProgram, path: relative(root, absolute) }
    },
  }
}

const elsewhere = 'It is not in the folder of the Compose file. Move it there, and name it from there.'

/** No link is followed. A file that becomes one meanwhile is refused when it is read. */
export function listFolder(top: string): FolderList {
  const { folderEntries, folderDepth } = composeLimits
  const files: string[] = []
  let entries = 0
  let bytes = 0
  const visit = (below: string, depth: number): void => {
    if (depth > folderDepth)
      throw new FileRefusal(`More than ${folderDepth} folders are in each other. Use fewer.`)
    const opened = opendirSync(join(top, below))
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        entries += 1
        if (entries > folderEntries)
          throw new FileRefusal(`It has more than ${folderEntries} files and folders. Use fewer.`)
        const path = join(below, entry.name)
        if (entry.isDirectory()) visit(path, depth + 1)
        else if (!entry.isFile()) throw new FileRefusal(`${shown(path)} in it: ${notRegular}`)
        else {
          files.push(path)
          bytes += lstatSync(join(top, path)).size
        }
      }
    } finally {
      opened.closeSync()
    }
  }
  visit('', 1)
  return { files: files.sort(), bytes }
}

const notRegular =
  'It is a link, a device or something else that is not a regular file. Use a copy of the file.'

/** Opened first and checked then: what was opened is what the path leads to without links. */
export function readRegular(path: string, maxBytes: number): Pick<FolderFile, 'bytes' | 'isProgram'> {
  let file: number
  try {
    // Without waiting: a named pipe has perhaps no writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ELOOP' || code === 'ENXIO') throw new FileRefusal(notRegular)
    throw new FileRefusal(`It cannot be read: ${reasonOf(cause)}. Check the path.`, code === 'ENOENT')
  }
  try {
    const opened = fstatSync(file)
    if (!opened.isFile()) throw new FileRefusal(notRegular)
    if (!isAt(path, opened)) throw new FileRefusal('A part of its path is a link. Use a copy of the file.')
    return { bytes: readWhole(file, maxBytes), isProgram: (opened.mode & 0o100) !== 0 }
  } catch (cause) {
    if (cause instanceof FileRefusal) throw cause
    throw new FileRefusal(`It cannot be read: ${reasonOf(cause)}. Check the path.`)
  } finally {
    closeSync(file)
  }
}

function isAt(path: string, opened: { readonly dev: number; readonly ino: number }): boolean {
  if (realpathSync(path) !== path) return false
  const found = statSync(path)
  return found.dev === opened.dev && found.ino === opened.ino
}

/** @throws FileRefusal for a file with more bytes, without reading the rest */
function readWhole(file: number, maxBytes: number): Buffer {
  const content = Buffer.alloc(maxBytes + 1)
  let length = 0
  while (length <= maxBytes) {
    const read = readSync(file, content, length, content.length - length, null)
    if (read === 0) break
    length += read
  }
  if (length > maxBytes) throw new FileRefusal(`It has more than ${maxBytes} bytes. Use a smaller file.`)
  // A copy: the buffer has room for the longest file.
  return Buffer.from(content.subarray(0, length))
}

/** A file that the user named on the command line: it may lie anywhere, and be a link. */
export function readNamedFile(path: string, maxBytes: number): Buffer {
  return readRegular(realpathSync(path), maxBytes).bytes
}
