/**
 * Where a device finds its join key. A key that others can read or change is refused: with it, they could add devices to the account.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { joinKeyPattern } from '@selvedge/protocol/tokens'

/** A join key, or why the one that a person set cannot be used. */
export interface FoundKey {
  readonly key?: string
  readonly problem?: string
  /** Whether it is from the credential of the unit, which a file of root is behind. */
  readonly isCredential?: true
}

/** Credential of the systemd unit with the content of /etc/selvedge/join-key (systemd.exec(5)). */
const credential = 'join-key'
/** What the credential is without that file. */
const fallback = 'none'
/** Bytes of the largest file that is read. */
const maxBytes = 1024

export interface KeySources {
  /** Path of the key that a person gave to the runtime, which may be missing; "" without one. */
  readonly given: string
  /** Value of the setting or the environment variable; "" without one. */
  readonly value: string
  /** Path of a file; "" without one. */
  readonly file: string
  /** Folder of the credentials of the unit; undefined without a unit. */
  readonly credentials: string | undefined
}

/** @returns undefined where no key is set */
export function findJoinKey({ given, value, file, credentials }: KeySources): FoundKey | undefined {
  const stored = given === '' ? undefined : readStart(given, refusalOf).content
  if (stored !== undefined) return asKey(stored, given)
  if (value !== '') return asKey(value, 'identity.joinKey')
  if (file !== '') return readKeyFile(file)
  const path = credentials === undefined ? undefined : join(credentials, credential)
  const content = path === undefined ? undefined : readStart(path, () => undefined).content
  if (content === undefined || ['', fallback].includes(content.trim())) return undefined
  return { ...asKey(content, `the credential ${credential}`), isCredential: true }
}

function asKey(text: string, source: string): FoundKey {
  const key = text.trim()
  return joinKeyPattern.test(key) ? { key } : { problem: `${source} has no join key: sj_ and 32 characters` }
}

function readKeyFile(path: string): FoundKey {
  const { content, problem } = readStart(path, refusalOf)
  if (content !== undefined) return asKey(content, path)
  return { problem: `can't use the join key in ${path}: ${problem}` }
}

/** Why others could have read or changed a file; undefined: they could not. */
function refusalOf({ mode, uid }: { readonly mode: number; readonly uid: number }): string | undefined {
  if ((mode & 0o077) !== 0) return `other users can reach it; run chmod 600`
  if (uid !== 0 && uid !== process.getuid?.()) return 'it belongs to another user'
  return undefined
}

/** Reads a regular file, without waiting for a pipe. @param refuses why a file is not used */
function readStart(
  path: string,
  refuses: typeof refusalOf,
): { readonly content?: string; readonly problem?: string } {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = fstatSync(file)
      const problem = stat.isFile() ? refuses(stat) : 'it is no file'
      if (problem !== undefined) return { problem }
      const bytes = Buffer.alloc(maxBytes)
      return { content: bytes.toString('latin1', 0, readSync(file, bytes, 0, maxBytes, 0)) }
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    return { problem: (cause as NodeJS.ErrnoException).code ?? 'it cannot be read' }
  }
}
