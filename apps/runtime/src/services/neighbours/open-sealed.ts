/**
 * Sealed values: what the runtime hands to a service that may not read it, and gets back from it. Only this process can open
 * one, only for the instance that got it, and only for a short time.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { RpcError } from '@selvedge/protocol'
import * as z from 'zod'

const algorithm = 'aes-256-gcm'
const keyBytes = 32
const ivBytes = 12
const tagBytes = 16
/** Characters of the base64 of a sealed text: a sealed value only holds which list was requested. */
const maxCharacters = 1024

const base64 = z
  .string()
  .max(maxCharacters)
  .regex(/^[A-Za-z0-9+/]*={0,2}$/)

/** In the members of this API family: base64 each. */
export const sealedValue = z.strictObject({ data: base64, iv: base64, tag: base64 })
export type SealedValue = z.infer<typeof sealedValue>

export interface Seals {
  /** @param instance the only one for which it opens @param lifetimeMs from now on */
  seal(text: string, instance: string, lifetimeMs: number): SealedValue
  /** @throws RpcError `invalid_params` for a value that is not of this process and instance, was changed, or is too old */
  open(sealed: SealedValue, instance: string): string
}

/** @param now gives monotonic milliseconds */
export function createSeals(now: () => number): Seals {
  const key = randomBytes(keyBytes)
  return {
    seal(text, instance, lifetimeMs) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, key, iv)
      cipher.setAAD(Buffer.from(instance))
      const content = JSON.stringify({ text, until: now() + lifetimeMs })
      const data = Buffer.concat([cipher.update(content), cipher.final()])
      return {
        data: data.toString('base64'),
        iv: iv.toString('base64'),
        tag: cipher.getAuthTag().toString('base64'),
      }
    },
    open(sealed, instance) {
      const { text, until } = decrypt(sealed, key, instance)
      if (until > now()) return text
      throw new RpcError('invalid_params', 'the sealed list is too old', { hint: 'List the nodes again.' })
    },
  }
}

function decrypt(
  { data, iv, tag }: SealedValue,
  key: Buffer,
  instance: string,
): { text: string; until: number } {
  try {
    const decipher = createDecipheriv(algorithm, key, Buffer.from(iv, 'base64'), { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(instance))
    decipher.setAuthTag(Buffer.from(tag, 'base64'))
    const content = Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()])
    return JSON.parse(content.toString())
  } catch (cause) {
    throw new RpcError(
      'invalid_params',
      'the sealed list is not one that this service got from this runtime',
      {
        cause,
        hint: 'List the nodes again.',
      },
    )
  }
}
