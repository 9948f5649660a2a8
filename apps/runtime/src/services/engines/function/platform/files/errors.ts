/** The errors of files as Node.js has them: `code`, `errno`, `syscall`, `path`. */

const errors = {
  EACCES: [13, 'permission denied'],
  EBADF: [9, 'bad file descriptor'],
  EEXIST: [17, 'file already exists'],
  EINVAL: [22, 'invalid argument'],
  EISDIR: [21, 'illegal operation on a directory'],
  EMFILE: [24, 'too many open files'],
  ENAMETOOLONG: [36, 'name too long'],
  ENOENT: [2, 'no such file or directory'],
  ENOSPC: [28, 'no space left on device'],
  ENOTDIR: [20, 'not a directory'],
  ENOTEMPTY: [39, 'directory not empty'],
  EPERM: [1, 'operation not permitted'],
  EROFS: [30, 'read-only file system'],
} as const

type FileErrorCode = keyof typeof errors

export interface FileError extends Error {
  readonly code: FileErrorCode
  readonly errno: number
  readonly syscall: string
  readonly path?: string
  readonly dest?: string
}

/** @param hint why it is so in a function, for the message */
export function fileError(
  code: FileErrorCode,
  syscall: string,
  { path, dest, hint }: { readonly path?: string; readonly dest?: string; readonly hint?: string } = {},
): FileError {
  const [number, text] = errors[code]
  const shown = path === undefined ? '' : ` '${path}'${dest === undefined ? '' : ` -> '${dest}'`}`
  const message = `${code}: ${text}, ${syscall}${shown}${hint === undefined ? '' : ` (${hint})`}`
  return Object.assign(new Error(message), {
    errno: -number,
    code,
    syscall,
    ...(path !== undefined && { path }),
    ...(dest !== undefined && { dest }),
  })
}

/** An argument that Node.js refuses at the call. */
export const argumentError = (message: string): TypeError =>
  Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_VALUE' })
