/**
 * The join keys that this device has used up, as hashes. A device that has an account has used up the key that it was started with, also
 * if it got the account in another way: it never joins by that key later.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeOnce } from '@selvedge/service-kit/store'
import * as z from 'zod'

export interface UsedKeys {
  has(key: string): boolean
  /** @param isCredential whether the file behind the credential of the unit can be removed @throws NodeJS.ErrnoException when the disk fails */
  add(key: string, isCredential: boolean): Promise<void>
}

const usedFile = z.object({ hashes: z.array(z.string().length(43)) })
/** Hashes that are stored; the oldest is dropped. Identity refuses a device that left its account by itself. */
const maxHashes = 16
const fileName = 'join-keys-used.json'
/** Name of the empty file with which the unit of systemd is asked to remove /etc/selvedge/join-key. */
const joinedMark = 'joined'

const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url')

/** @param folder of the runtime @throws NodeJS.ErrnoException when the disk fails */
export async function openUsedKeys(folder: string): Promise<UsedKeys> {
  const path = join(folder, fileName)
  let hashes = await readHashes(path)
  return {
    has: (key) => hashes.includes(hashOf(key)),
    async add(key, isCredential) {
      const hash = hashOf(key)
      const next = [...hashes.filter((each) => each !== hash), hash].slice(-maxHashes)
      await writeOnce(path, `${JSON.stringify({ hashes: next })}\n`)
      hashes = next
      if (isCredential) await writeOnce(join(folder, joinedMark), '')
    },
  }
}

async function readHashes(path: string): Promise<string[]> {
  let content: string
  try {
    content = await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw cause
  }
  try {
    return usedFile.parse(JSON.parse(content)).hashes
  } catch {
    return []
  }
}
