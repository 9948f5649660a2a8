/** `wasi:keyvalue` (0.2.0-draft and draft2) on the storage of the function: items without tags, in one bucket. */
import type { FunctionStorage } from '@selvedge/client/function'
import { Refusal } from './failure.ts'

type StoreError =
  | { readonly tag: 'no-such-store' | 'access-denied' }
  | { readonly tag: 'other'; readonly val: string }

/** Keys of one call of `list-keys`. */
const maxListedKeys = 1000

/** Of values that are no UTF-8, which the storage of texts stores as base64. */
const binaryPrefix = '\0base64:'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

/** UTF-8 as text, and other bytes as base64: handlers in JavaScript read the same items. */
export function textOf(bytes: Uint8Array): string {
  try {
    const text = decoder.decode(bytes)
    if (!text.startsWith(binaryPrefix)) return text
  } catch {
    // Not UTF-8.
  }
  return binaryPrefix + Buffer.from(bytes).toString('base64')
}

export const bytesOf = (text: string): Uint8Array =>
  text.startsWith(binaryPrefix)
    ? Uint8Array.from(Buffer.from(text.slice(binaryPrefix.length), 'base64'))
    : encoder.encode(text)

/** Failures of the storage, such as its quota, are results and no traps. */
function attempt<T>(run: () => T): T {
  try {
    return run()
  } catch (cause) {
    throw new Refusal<StoreError>({ tag: 'other', val: (cause as Error).message })
  }
}

export function createKeyvalue(storage: FunctionStorage, hasTextCursors: boolean) {
  class Bucket {
    get(key: string): Uint8Array | undefined {
      const text = attempt(() => storage.getItem(key))
      return text === null ? undefined : bytesOf(text)
    }

    set(key: string, value: Uint8Array): void {
      attempt(() => storage.setItem(key, textOf(value)))
    }

    delete(key: string): void {
      attempt(() => storage.removeItem(key))
    }

    exists(key: string): boolean {
      return attempt(() => storage.getItem(key)) !== null
    }

    /** @param cursor position of the first key: a text in draft2, a number in draft */
    listKeys(cursor: bigint | string | undefined) {
      const from = /^\d{1,15}$/.test(String(cursor)) ? Number(cursor) : 0
      const keys: string[] = []
      let at = 0
      storage.eachItem((key) => {
        if (at++ >= from) keys.push(key)
        return keys.length <= maxListedKeys
      })
      const hasMore = keys.length > maxListedKeys
      const next = from + maxListedKeys
      return {
        keys: keys.slice(0, maxListedKeys),
        cursor: hasMore ? (hasTextCursors ? String(next) : BigInt(next)) : undefined,
      }
    }
  }

  /** @throws Refusal for a name other than `default` */
  function open(name: string): Bucket {
    if (name !== '' && name !== 'default') throw new Refusal<StoreError>({ tag: 'no-such-store' })
    return new Bucket()
  }

  /** A counter as text. No other request runs in between: the storage is synchronous. */
  function increment(bucket: Bucket, key: string, delta: bigint): bigint {
    const value = bucket.get(key)
    const text = value === undefined ? '0' : Buffer.from(value).toString()
    if (!/^-?\d{1,20}$/.test(text))
      throw new Refusal<StoreError>({
        tag: 'other',
        val: `the value of ${JSON.stringify(key)} is no integer`,
      })
    const sum = BigInt.asIntN(64, BigInt(text) + delta)
    bucket.set(key, encoder.encode(String(sum)))
    return sum
  }

  return {
    'wasi:keyvalue/store': { Bucket, open },
    'wasi:keyvalue/atomics': { increment },
    'wasi:keyvalue/batch': {
      getMany: (bucket: Bucket, keys: readonly string[]) =>
        keys.map((key) => {
          const value = bucket.get(key)
          return value && ([key, value] as const)
        }),
      setMany: (bucket: Bucket, items: readonly (readonly [string, Uint8Array])[]) => {
        for (const [key, value] of items) bucket.set(key, value)
      },
      deleteMany: (bucket: Bucket, keys: readonly string[]) => {
        for (const key of keys) bucket.delete(key)
      },
    },
  }
}
