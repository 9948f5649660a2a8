/** Secrets at rest: AES-256-GCM with a key from outside the database, so that a copy of the database alone gives nothing away. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '@selvedge/service-kit/config'
import { makeFolder } from '@selvedge/service-kit/store'

export interface Seal {
  /** @param purpose what the secret is of; a sealed text moved to another place does not open there */
  close(secret: string, purpose: string): string
  /** @throws Error where it was sealed with a key that is not at hand, for another purpose, or was changed */
  open(sealed: string, purpose: string): string
  isSealed(text: string): boolean
}

const prefix = 'v1.'

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
      throw new Error(
        `${purpose} can't be decrypted: it was encrypted with a key that this service does not have`,
      )
    },
  }
}

/** Environment variable that may hold the keys, for platforms that hand out secrets so. */
export const keysVariable = 'SELVEDGE_IDENTITY_KEYS'

/**
 * The keys: 32 bytes in base64url each, one a line, the newest first; from the environment, else from the file. A file that
 * is not there is made where `mayMake` says so: with one machine there is nobody to agree with.
 *
 * @throws ConfigError
 */
export function readSealKeys(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  mayMake: boolean,
): Buffer[] {
  const given = env[keysVariable]
  if (given) return parseKeys(given, `environment variable ${keysVariable}`)
  try {
    return parseKeys(readFileSync(file, 'utf8'), file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    if (!mayMake) {
      const how = 'openssl rand -base64 32 | tr "+/" "-_" | tr -d "="'
      throw new ConfigError(
        `there is no key to encrypt secrets with: all replicas need the same one, in ${file} or in ${keysVariable}. Make one: ${how}`,
      )
    }
  }
  const key = randomBytes(32)
  makeFolder(dirname(file))
  writeFileSync(file, `${key.toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  chmodSync(file, 0o600)
  return [key]
}

function parseKeys(text: string, from: string): Buffer[] {
  const keys = text
    .split(/\s+/)
    .filter(Boolean)
    .map((line) => Buffer.from(line, 'base64url'))
  if (keys.length > 0 && keys.every((key) => key.length === 32)) return keys
  throw new ConfigError(`${from} holds no keys: expected 32 bytes in base64url a line`)
}
