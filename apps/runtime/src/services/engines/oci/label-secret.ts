import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

const size = 32

/**
 * The secret by which the runtime knows its own containers again. A lost or damaged one is replaced: then containers of an
 * earlier run are replaced instead of adopted.
 */
export function openLabelSecret(path: string): Buffer {
  try {
    const found = readFileSync(path)
    if (found.length === size) return found
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
  }
  const secret = randomBytes(size)
  writeFileSync(path, secret, { mode: 0o600 })
  return secret
}
