import type { FunctionStorage, VisitItem } from '@selvedge/client/function'
import type { StorageChange, StorageItem } from '../control.ts'
import { cutChanges, type Grown, maxKeyBytes, maxTagBytes, sizeOf } from '../storage-change.ts'
import { decode, encode, OwnMap } from './own.ts'

/** Files of `saveFile`, forms and `writeMimeFile`: stored like items, in a separate space of names. */
export interface Files {
  /** Bytes of a file, as base64. */
  read(name: string): string | null
  /** @throws Error as `setItem` */
  write(name: string, base64: string): void
  /** @returns false without such a file */
  remove(name: string): boolean
}

export interface HeldStorage {
  /** `context.storage`: reads are from memory, and no answer leaves before what it wrote is on the disk. */
  readonly storage: FunctionStorage
  readonly files: Files
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

interface Item {
  readonly value: string
  readonly tag: string
}

/** Keys of files. No release lets a service visit them. */
const filePrefix = '\0file:'

/** Bytes that an item counts for; 0 without an item. */
const measure = (key: string, item: Item | undefined): number =>
  item === undefined ? 0 : sizeOf(key, item.value, item.tag)

const isSame = (one: Item | undefined, other: Item | undefined): boolean =>
  one === other || (one?.value === other?.value && one?.tag === other?.tag)

export function createStorage(
  quota: number,
  write: (change: StorageChange) => Promise<unknown>,
  onFailure: (cause: unknown) => void,
): HeldStorage {
  const items = new OwnMap<string, Item>()
  let size = 0
  /** Keys that were changed and not sent, with their size as it is stored. */
  let touched = new OwnMap<string, number>()
  /** Keys that were changed before its turn, with what is stored. */
  let drafts: OwnMap<string, Item | undefined> | undefined = new OwnMap()
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
      const item = items.get(key)
      if (item !== undefined)
        set[set.length] = { item: wireItem(key, item), growth: measure(key, item) - stored }
      else if (stored > 0) remove[remove.length] = key
    })
    const changes = cutChanges(set, remove)
    for (let at = 0; at < changes.length; at++) await write(changes[at]!)
  }

  function put(key: string, item: Item | undefined): void {
    size += measure(key, item) - measure(key, items.get(key))
    if (item === undefined) items.delete(key)
    else items.set(key, item)
  }

  function change(key: string, item: Item | undefined): void {
    const before = items.get(key)
    if (isSame(before, item)) return
    if (!mayWrite && !drafts)
      throw new Error('another revision of this service has taken over: this one may only read its storage')
    const own = measure(key, before)
    const next = size - own + measure(key, item)
    if (item !== undefined && next > quota && next > size)
      throw new Error(`storage is full: ${next} of ${quota} bytes; set MCM.STORAGE_MB, or remove items`)
    put(key, item)
    if (drafts) {
      if (!drafts.has(key)) drafts.set(key, before)
      return
    }
    if (!touched.has(key)) touched.set(key, own)
    schedule()
  }

  const take = (key: string, item: Item | undefined): void => {
    if (drafts?.has(key)) drafts.set(key, item)
    else put(key, item)
  }

  return {
    ...accessTo(items, change),
    apply(change) {
      if ('setLong' in change) take(change.setLong, { value: decode(change.value), tag: change.tag ?? '' })
      else if ('remove' in change)
        for (let at = 0; at < change.remove.length; at++) take(change.remove[at]!, undefined)
      else
        for (let at = 0; at < change.set.length; at++) {
          const item = change.set[at]!
          take(item[0], { value: item[1], tag: item[2] ?? '' })
        }
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

/** What services call. @param change stores an item, or removes it */
function accessTo(
  items: OwnMap<string, Item>,
  change: (key: string, item: Item | undefined) => void,
): Pick<HeldStorage, 'storage' | 'files'> {
  function listed(tag: string | undefined): [key: string, value: string][] {
    const all: [string, string][] = []
    items.forEach((item, key) => {
      if (!isFile(key) && (tag === undefined || item.tag === tag)) all[all.length] = [key, item.value]
    })
    return all
  }

  function visitAll(tag: string | undefined, visit: VisitItem): void {
    const all = listed(tag)
    for (let at = 0; at < all.length; at++) if (visit(all[at]![0], all[at]![1]) === false) return
  }

  function removeTagged(rawTag: string): number {
    const tag = checkedTag(rawTag)
    const all = tag === '' ? [] : listed(tag)
    for (let at = 0; at < all.length; at++) change(all[at]![0], undefined)
    return all.length
  }

  const read = (key: string): string | null => items.get(key)?.value ?? null
  const write = (key: string, value: string) =>
    change(checkedSize(key), { value: wellFormed(value), tag: items.get(key)?.tag ?? '' })
  const storage: FunctionStorage = {
    getItem: (key) => read(itemKey(key)),
    setItem: (key, value) => write(itemKey(key), value),
    setItemWithTag: (key, value, tag) =>
      change(checkedSize(itemKey(key)), { value: wellFormed(value), tag: checkedTag(tag) }),
    updateTag(rawKey, rawTag) {
      const key = itemKey(rawKey)
      const tag = checkedTag(rawTag)
      const item = items.get(key)
      if (item) change(key, { ...item, tag })
      return item !== undefined
    },
    removeItem: (key) => change(itemKey(key), undefined),
    deleteItemsByTag: removeTagged,
    removeItemsByTag: removeTagged,
    eachItem: (visit) => visitAll(undefined, visit),
    eachItemByTag: (tag, visit) => visitAll(checkedTag(tag), visit),
  }
  const files: Files = {
    read: (name) => read(fileKey(name)),
    write: (name, base64) => write(fileKey(name), base64),
    remove(name) {
      const key = fileKey(name)
      const isThere = read(key) !== null
      change(key, undefined)
      return isThere
    },
  }
  return { storage, files }
}

const wireItem = (key: string, { value, tag }: Item): StorageItem =>
  tag === '' ? [key, value] : [key, value, tag]

function isFile(key: string): boolean {
  for (let at = 0; at < filePrefix.length; at++) if (key[at] !== filePrefix[at]) return false
  return true
}

const fileKey = (name: string): string => wellFormed(filePrefix + name)

/** A service may use keys that its callers choose, and they must not reach its files. */
function itemKey(raw: string): string {
  const key = wellFormed(raw)
  if (isFile(key)) throw new Error('a storage key may not begin with "\\0file:"')
  return key
}

function checkedSize(key: string): string {
  const bytes = encode(key).length
  if (bytes > maxKeyBytes)
    throw new Error(`a storage key may have ${maxKeyBytes} bytes; this one has ${bytes}`)
  return key
}

function checkedTag(raw: string): string {
  const tag = wellFormed(raw)
  const bytes = encode(tag).length
  if (bytes > maxTagBytes)
    throw new Error(`the tag of an item may have ${maxTagBytes} bytes; this one has ${bytes}`)
  return tag
}

/** Half of a surrogate pair cannot be stored: it becomes U+FFFD, as everywhere on the web. */
const wellFormed = (text: unknown): string => decode(encode(String(text)))
