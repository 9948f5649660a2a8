/** Secrets at rest: AES-256-GCM with a key from outside the database, so that a copy of the database alone reveals no secret. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { ConfigError } from '@selvedge/service-kit/config'
import { makeFolder, readOrWriteOnce, StoreError } from '@selvedge/service-kit/store'

export interface Seal {
  /** @param purpose what the secret is for; a sealed text does not open for another purpose */
  close(secret: string, purpose: string): string
  /** @throws StoreError where it was sealed with a key that is not at hand, for another purpose, or was changed */
  open(sealed: string, purpose: string): string
  isSealed(text: string): boolean
}

const prefix = 'v1.'

/** Environment variable that may hold the keys, for platforms that hand out secrets so. */
export const keysVariable = 'SELVEDGE_IDENTITY_KEYS'

/** @param keys the first one seals, all of them open */
export function createSeal(keys: readonly Buffer[]): Seal {
  return {
    isSealed: (text) => text.startsWith(prefix),
    close(secret, purpose) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', keys[0]!, iv).setAAD(Buffer.from(purpose))
      const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return prefix + sealed.toString('base64url')
    },
    open(text, purpose) {
      const sealed = Buffer.from(text.slice(prefix.length), 'base64url')
      for (const key of keys) {
        try {
          const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), { authTagLength: 16 })
            .setAAD(Buffer.from(purpose))
            .setAuthTag(sealed.subarray(-16))
          return decipher.update(sealed.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8')
        } catch {
          // Of another key.
        }
      }
      throw new StoreError(
        `${purpose} can't be decrypted: it was encrypted with a key that this service does not have, or it is damaged. ` +
          `Restore the key file (identity/secret-keys, or ${keysVariable}) and the database from the same backup`,
        { isUnrepairable: true },
      )
    },
  }
}

/**
 * The keys: 32 bytes in base64url each, one a line, the newest first; from the environment, else from the file. They are on
 * the disk when this resolves, so that what is encrypted with them may be stored.
 *
 * @param mayMake whether a missing file is made, as on a single machine; replicas must all have the same keys
 * @throws ConfigError when there are no valid keys; StoreError when the file can't be read or written
 */
export async function readSealKeys(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  mayMake: boolean,
): Promise<Buffer[]> {
  const given = env[keysVariable]
  if (given) return parseKeys(given, `environment variable ${keysVariable}`)
  try {
    if (mayMake) makeFolder(dirname(file))
    const content = await readOrWriteOnce(file, () => makeKeys(file, mayMake))
    return parseKeys(content.toString(), file)
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new StoreError(
      `can't read or store the key that encrypts secrets, in ${file}: ${(cause as Error).message}`,
      {
        cause,
      },
    )
  }
}

function makeKeys(file: string, mayMake: boolean): string {
  if (mayMake) return `${randomBytes(32).toString('base64url')}\n`
  const how = 'openssl rand -base64 32 | tr "+/" "-_" | tr -d "="'
  throw new ConfigError(
    `there is no key to encrypt secrets with: all replicas need the same one, in ${file} or in ${keysVariable}. Make one: ${how}`,
  )
}

function parseKeys(text: string, from: string): Buffer[] {
  const keys = text
    .split(/\s+/)
    .filter(Boolean)
    .map((line) => Buffer.from(line, 'base64url'))
  if (keys.length > 0 && keys.every((key) => key.length === 32)) return keys
  throw new ConfigError(
    `${from} holds no keys: expected 32 bytes in base64url a line. Restore it from a backup; the secrets in the database cannot be read without it`,
  )
}
