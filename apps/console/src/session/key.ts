import { Explained } from '../failures.ts'

/**
 * The key of this browser, which signs every request to the console. Signing in binds the session to it. It is stored in the
 * IndexedDB of this origin and cannot be exported, so a copied cookie is of no use without it.
 */
export interface BrowserKey {
  readonly privateKey: CryptoKey
  /** RFC 7517, the members that a proof shows. */
  readonly jwk: { readonly kty: string; readonly crv: string; readonly x: string; readonly y: string }
}

export interface KeyStore {
  /** The key, made at the first call; the same one in every tab. @throws Error where the browser has no Web Cryptography */
  get(): Promise<BrowserKey>
  /** Signing out: the next session has a key of its own. */
  forget(): Promise<void>
}

const table = 'keys'
const name = 'session'

export function createKeyStore(): KeyStore {
  /** Where the browser stores nothing, the key is this page's alone: after a reload, the person has to sign in again. */
  let ofThisPage: BrowserKey | undefined

  return {
    async get() {
      if (ofThisPage) return ofThisPage
      try {
        return (await inStore('readonly', (keys) => keys.get(name))) ?? (await addFirst(await generate()))
      } catch (cause) {
        if (!(cause instanceof DOMException)) throw cause
        ofThisPage = await generate()
        return ofThisPage
      }
    },
    async forget() {
      ofThisPage = undefined
      await inStore('readwrite', (keys) => keys.delete(name)).catch(() => undefined)
    },
  }
}

/** Stores a key unless another tab was first. @returns the one that is stored */
async function addFirst(made: BrowserKey): Promise<BrowserKey> {
  const stored = await inStore('readwrite', (keys) => {
    const asked = keys.get(name)
    asked.onsuccess = () => asked.result ?? keys.put(made, name)
    return asked
  })
  return stored ?? made
}

/** One request in a transaction of its own. The database is open for no longer, so that it can be cleared at any time. */
async function inStore<T>(
  mode: IDBTransactionMode,
  ask: (keys: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opening = indexedDB.open('selvedge', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore(table)
  const database = await resultOf(opening)
  try {
    const transaction = database.transaction(table, mode)
    const asked = ask(transaction.objectStore(table))
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })
    return asked.result
  } finally {
    database.close()
  }
}

const resultOf = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

async function generate(): Promise<BrowserKey> {
  if (!isSecureContext)
    throw new Explained(
      `The console needs HTTPS, or the host name localhost: this page came from ${location.host}.`,
    )
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign', 'verify'],
  )
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  return { privateKey, jwk: { kty: kty!, crv: crv!, x: x!, y: y! } }
}
