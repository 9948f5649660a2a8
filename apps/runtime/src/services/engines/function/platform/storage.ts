import type { StorageChange, StorageItem } from '../control.ts'
import { cutChanges, type Grown, maxKeyBytes, sizeOf } from '../storage-change.ts'
import { decode, encode, OwnMap } from './own.ts'

/** `context.storage`: reads are from memory, and no answer leaves before what it wrote is on the disk. */
export interface Storage {
  getItem(key: string): string | null
  /** @throws Error when the quota would be passed, or the key is too long; nothing is changed then */
  setItem(key: string, value: string): void
  removeItem(key: string): void
  eachItem(visit: (key: string, value: string) => void): void
}

export interface HeldStorage {
  readonly storage: Storage
  /** Receives the stored items, and the changes of other instances of the service. */
  apply(change: StorageChange): void
  /**
   * One instance of a service writes at a time. What this one writes before its turn, while its health is checked, is seen by
   * itself alone and gone when its turn comes; after its turn it may only read.
   */
  setMayWrite(isAllowed: boolean): void
  /** Resolves once every change made so far is on the disk; undefined without one to wait for. */
  settled(): Promise<unknown> | undefined
}

/** Bytes that an item counts for; 0 without an item. */
const measure = (key: string, value: string | undefined): number =>
  value === undefined ? 0 : sizeOf(key, value)

export function createStorage(
  quota: number,
  write: (change: StorageChange) => Promise<unknown>,
  onFailure: (cause: unknown) => void,
): HeldStorage {
  const items = new OwnMap<string, string>()
  let size = 0
  /** Keys that were changed and not sent, with their size as it is stored. */
  let touched = new OwnMap<string, number>()
  /** Keys that were changed before its turn, with what is stored. */
  let drafts: OwnMap<string, string | undefined> | undefined = new OwnMap()
  let mayWrite = false
  let pending: Promise<unknown> | undefined
  let isScheduled = false

  /** Changes travel together while others are on their way. What was refused once stays refused: memory and disk differ. */
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    const mine = flush(pending)
    pending = mine
    mine.then(() => {
      if (pending === mine) pending = undefined
    }, onFailure)
  }

  async function flush(before: Promise<unknown> | undefined): Promise<void> {
    await before
    isScheduled = false
    const sent = touched
    touched = new OwnMap()
    const set: Grown[] = []
    const remove: string[] = []
    sent.forEach((stored, key) => {
      const value = items.get(key)
      if (value !== undefined) set[set.length] = { item: [key, value], growth: sizeOf(key, value) - stored }
      else if (stored > 0) remove[remove.length] = key
    })
    const changes = cutChanges(set, remove)
    for (let at = 0; at < changes.length; at++) await write(changes[at]!)
  }

  function put(key: string, value: string | undefined): void {
    size += measure(key, value) - measure(key, items.get(key))
    if (value === undefined) items.delete(key)
    else items.set(key, value)
  }

  function change(key: string, value: string | undefined): void {
    const before = items.get(key)
    if (before === value) return
    if (!mayWrite && !drafts)
      throw new Error('another revision of this service has taken over: this one may only read its storage')
    const own = measure(key, before)
    const next = size - own + measure(key, value)
    if (value !== undefined && next > quota && next > size)
      throw new Error(`storage is full: ${next} of ${quota} bytes; set MCM.STORAGE_MB, or remove items`)
    put(key, value)
    if (drafts) {
      if (!drafts.has(key)) drafts.set(key, before)
      return
    }
    if (!touched.has(key)) touched.set(key, own)
    schedule()
  }

  const take = (key: string, value: string | undefined): void => {
    if (drafts?.has(key)) drafts.set(key, value)
    else put(key, value)
  }

  return {
    storage: {
      getItem: (key) => items.get(wellFormed(key)) ?? null,
      setItem(rawKey, rawValue) {
        const key = wellFormed(rawKey)
        const bytes = encode(key).length
        if (bytes > maxKeyBytes)
          throw new Error(`a storage key may have ${maxKeyBytes} bytes; this one has ${bytes}`)
        change(key, wellFormed(rawValue))
      },
      removeItem: (key) => change(wellFormed(key), undefined),
      eachItem(visit) {
        const all: StorageItem[] = []
        items.forEach((value, key) => {
          all[all.length] = [key, value]
        })
        for (let at = 0; at < all.length; at++) visit(all[at]![0], all[at]![1])
      },
    },
    apply(change) {
      if ('setLong' in change) take(change.setLong, decode(change.value))
      else if ('remove' in change)
        for (let at = 0; at < change.remove.length; at++) take(change.remove[at]!, undefined)
      else for (let at = 0; at < change.set.length; at++) take(change.set[at]![0], change.set[at]![1])
    },
    setMayWrite(isAllowed) {
      mayWrite = isAllowed
      if (!isAllowed) return
      drafts?.forEach((stored, key) => {
        put(key, stored)
      })
      drafts = undefined
    },
    settled: () => pending,
  }
}

/** Half of a surrogate pair cannot be stored: it becomes U+FFFD, as everywhere on the web. */
const wellFormed = (text: unknown): string => decode(encode(String(text)))
