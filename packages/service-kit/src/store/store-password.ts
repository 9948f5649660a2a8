/** The password of a database from a file: container engines and Kubernetes mount secrets as files, and show the environment to others. */
import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from '../config/index.ts'

/** Bytes; PostgreSQL accepts longer ones, and a larger file is another file. */
const maxPasswordBytes = 1024

/**
 * The URL of a store with the password that a file contains.
 *
 * @param store `postgres://user@host/database`
 * @param file path; empty: the URL is returned as it is. A line break at the end is not a part of the password
 * @throws ConfigError when the store is not PostgreSQL or has a password already, or the file has no password or cannot be read
 */
export function withStorePassword(store: string, file: string): string {
  if (file === '') return store
  const url = store.startsWith('postgres') ? URL.parse(store) : null
  if (!url || url.username === '')
    throw new ConfigError(
      'storePasswordFile is set, and "store" is not postgres://user@host/database; correct one of the two',
    )
  if (url.password !== '')
    throw new ConfigError('both "store" and storePasswordFile have a password; remove the one in "store"')
  url.password = encodeURIComponent(readPassword(file))
  return url.href
}

function readPassword(file: string): string {
  let text: string
  try {
    text = readSmall(file)
  } catch (cause) {
    const why = explain(file, cause as NodeJS.ErrnoException)
    throw new ConfigError(`can't read storePasswordFile ${file}: ${why}`, { cause })
  }
  const password = text.replace(/\r?\n$/, '')
  if (password === '' || /[\r\n\0]/.test(password))
    throw new ConfigError(
      `storePasswordFile ${file} has ${password === '' ? 'no password' : 'more than one line'}; expected one line with the password`,
    )
  return password
}

/** @throws NodeJS.ErrnoException | Error */
function readSmall(file: string): string {
  const found = statSync(file)
  // An engine makes a folder where the file that it should mount is missing.
  if (!found.isFile()) throw new Error('it is not a file')
  if (found.size > maxPasswordBytes)
    throw new Error(`it has ${found.size} bytes, more than ${maxPasswordBytes}`)
  return readFileSync(file, 'utf8')
}

/** Why a file cannot be read, and what to do. */
export function explain(file: string, { code, message }: NodeJS.ErrnoException): string {
  if (code !== 'EACCES') return message
  const own = process.getuid?.()
  const found = statSync(file, { throwIfNoEntry: false })
  const owner = found ? ` It belongs to user ${found.uid} (mode 0${(found.mode & 0o777).toString(8)}).` : ''
  return `this program runs as user ${own}, which may not read it.${owner} Give it to this user: chown ${own}, chmod 0400`
}
