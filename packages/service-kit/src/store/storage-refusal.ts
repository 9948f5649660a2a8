import { RpcError } from '@selvedge/protocol'
import { StoreError } from './store-error.ts'

const fullDisk = new Set(['ENOSPC', 'EDQUOT', '53100'])
/** Why a system call on a file fails that is in order itself. */
const fileFailures = /^(EIO|EUCLEAN|EROFS|EMFILE|ENFILE|ENOMEM|EACCES|EPERM)$/
/**
 * Why a database cannot be reached, or cannot serve: the classes of PostgreSQL's error codes for the connection, the sign-in, resources,
 * an operator and the system, and the code of a server that only reads (PostgreSQL, appendix A). Any connection fails with some of them.
 */
const databaseFailures =
  /^(ECONN[A-Z]+|ETIMEDOUT|EPIPE|E(HOST|NET)UNREACH|EAI_AGAIN|ENOTFOUND|CONNECTION_[A-Z]+|CONNECT_TIMEOUT|(08|28|53|57|58)\w+|25006)$/
const fileCalls = new Set([
  'open',
  'read',
  'write',
  'fsync',
  'fdatasync',
  'ftruncate',
  'rename',
  'unlink',
  'mkdir',
  'rm',
  'rmdir',
  'stat',
  'scandir',
  'link',
])

interface Failure {
  readonly name?: string
  readonly code?: unknown
  readonly syscall?: unknown
  readonly cause?: unknown
}

/**
 * A failure of the disk or the database in words for the caller: its cause, without the names of files.
 *
 * @returns `storage_full` or `storage_failed`; undefined where the cause is something else
 */
export function storageRefusal(cause: unknown): RpcError | undefined {
  let isStore = false
  let isFile = false
  let depth = 0
  for (
    let each = cause as Failure | undefined;
    each instanceof Object && depth < 5;
    each = each.cause as Failure
  ) {
    depth++
    isStore ||= each.name === 'StoreError'
    isFile ||= fileCalls.has(String(each.syscall))
    const code = String(each.code ?? '')
    if (!isStore && !isFile) continue
    if (fullDisk.has(code)) return new RpcError('storage_full', 'the disk is full', { cause })
    if (fileFailures.test(code) || (isStore && databaseFailures.test(code)))
      return new RpcError('storage_failed', `the state could not be read or written: ${code}`, { cause })
  }
  return undefined
}

/** Codes of a PostgreSQL that reads and does not write: it is a standby, or its disk is full. */
const readOnlyCodes = new Set(['25006', '53100'])

/** Whether a statement failed because the database only reads. */
export const refusesWrites = (cause: unknown): boolean =>
  cause instanceof StoreError && readOnlyCodes.has(String((cause.cause as Failure | undefined)?.code))
