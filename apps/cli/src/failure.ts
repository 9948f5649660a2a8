import { isSelvedgeError, type SelvedgeError } from '@selvedge/client'

/** Exit codes of protocol.md § 5. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, notRunning: 3, notAuthorised: 4 } as const

/** A mistake in how the command was called. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly hint: string
  readonly exitCode: number
  constructor(message: string, hint: string, exitCode: number = exitCodes.usage) {
    super(message)
    this.hint = hint
    this.exitCode = exitCode
  }
}

/** The command needs a token or a sign-in, and did not get one. */
export const signInNeeded = (message: string, hint: string): UsageError =>
  new UsageError(message, hint, exitCodes.notAuthorised)

export interface Failure {
  readonly code: number
  readonly message: string
  readonly hint?: string
}

/** The error message for a person, and the exit code. */
export function describeFailure(cause: unknown): Failure {
  if (cause instanceof UsageError) return { code: cause.exitCode, message: cause.message, hint: cause.hint }
  // The address of a service was refused inside the call.
  if (cause instanceof Error && cause.cause instanceof UsageError) return describeFailure(cause.cause)
  if (isSelvedgeError(cause)) return describe(cause)
  return (
    describeSystemError(cause) ?? {
      code: exitCodes.failed,
      message: (cause as Error).message ?? String(cause),
    }
  )
}

function describe(error: SelvedgeError): Failure {
  const message = `${error.message} (${error.reason})`
  switch (error.kind) {
    case 'rpc': {
      const denied = error.code === -32001 || error.code === -32003
      return { code: denied ? exitCodes.notAuthorised : exitCodes.failed, message, hint: error.hint }
    }
    case 'oauth': {
      const denied = error.status === 401 || error.status === 403 || error.reason === 'invalid_grant'
      if (!denied) return { code: exitCodes.failed, message }
      return { code: exitCodes.notAuthorised, message, hint: 'Sign in again: selvedge login' }
    }
    case 'connection':
      return error.reason === 'not_running'
        ? { code: exitCodes.notRunning, message, hint: notRunningHint }
        : { code: exitCodes.failed, message, ...(error.reason === 'timeout' && { hint: timeoutHint }) }
  }
}

const notRunningHint =
  'Start it ("npm start" in a clone, else its service), or name the device with --context, --state or --url. "selvedge status" shows the addresses.'
const timeoutHint = 'Try again. "selvedge status" shows which services answer.'

/** Errors of the operating system that a user can do something about. */
const systemErrors: Readonly<Record<string, readonly [meaning: string, hint: string]>> = {
  ENOSPC: ['the disk is full', 'Free space on that disk, or choose a folder on another one.'],
  EDQUOT: ['the disk quota of this user is used up', 'Remove files, or choose a folder on another disk.'],
  EROFS: ['the file system is read-only', 'Choose a folder that can be written to.'],
  EACCES: ['permission denied', 'Check the owner and the mode: ls -ld on the path and its folder.'],
  EPERM: [
    'the operation is not permitted',
    'Check the owner and the mode: ls -ld on the path and its folder.',
  ],
  ENOENT: ['there is no such file or folder', 'Check the path.'],
  ENOTDIR: ['a part of the path is a file, not a folder', 'Check the path.'],
  EISDIR: ['this is a folder, not a file', 'Name a file.'],
  EMFILE: ['too many files are open', 'Raise the limit: ulimit -n 4096'],
}

function describeSystemError(cause: unknown): Failure | undefined {
  const { code = '', path } = Object(cause) as NodeJS.ErrnoException
  if (!Object.hasOwn(systemErrors, code)) return undefined
  const [meaning, hint] = systemErrors[code]!
  return {
    code: exitCodes.failed,
    message: path === undefined ? `${meaning} (${code})` : `${path}: ${meaning} (${code})`,
    hint,
  }
}
