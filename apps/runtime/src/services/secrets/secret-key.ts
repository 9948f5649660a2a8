/**
 * The key that encrypts the secrets of services on the disk. It is made with the first secret, in a file of its own beside the key of
 * the node, and never leaves the device. Without it the stored secrets are lost: they are set again.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { readOrWriteOnce, writeOnce } from '@selvedge/service-kit/store'
import * as z from 'zod'

/** Of AES-256. */
const keyBytes = 32

const keyFile = z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  /** SHA-256 of the key: a changed bit must not make a key that opens nothing and encrypts new secrets. */
  check: z.string(),
})

const checkOf = (key: Buffer): string => hash('sha256', key, 'hex')

function makeFile(): string {
  const key = randomBytes(keyBytes)
  return JSON.stringify({ key: key.toString('base64url'), check: checkOf(key) })
}

function parse(content: Buffer): Buffer | undefined {
  try {
    const { key: text, check } = keyFile.parse(JSON.parse(content.toString()))
    const key = Buffer.from(text, 'base64url')
    return checkOf(key) === check ? key : undefined
  } catch {
    return undefined
  }
}

export interface SecretKey {
  readonly key: Buffer
  /** Where a damaged file of it was set aside; undefined if it was whole. */
  readonly aside: string | undefined
}

/**
 * The key; a new one if the file is missing or damaged. Its name is on the disk when this resolves.
 *
 * @throws NodeJS.ErrnoException when it can't be read or written
 */
export async function openSecretKey(path: string): Promise<SecretKey> {
  const key = parse(await readOrWriteOnce(path, makeFile))
  if (key) return { key, aside: undefined }
  const aside = `${path}.damaged-${randomUUID().slice(0, 8)}`
  await rename(path, aside)
  const content = makeFile()
  await writeOnce(path, content)
  return { key: parse(Buffer.from(content))!, aside }
}
