import type { StorageChange } from '../control.ts'
import { sizeOf } from '../control.ts'

/** `context.storage`: reads are from memory, and no answer leaves before what it wrote is on the disk. */
export interface Storage {
  getItem(key: string): string | null
  /** @throws Error when the quota would be passed; nothing is changed then */
  setItem(key: string, value: string): void
  removeItem(key: string): void
  eachItem(visit: (key: string, value: string) => void): void
}

export interface HeldStorage {
  readonly storage: Storage
  /** Takes over what another instance of the service changed. */
  apply(change: StorageChange): void
  /** Kept once every change made so far is on the disk; undefined where there is none to wait for. */
  settled(): Promise<unknown> | undefined
}

export function createStorage(
  initial: Readonly<Record<string, string>>,
  quota: number,
  write: (change: StorageChange) => Promise<unknown>,
  onFailure: (cause: unknown) => void,
): HeldStorage {
  const items = new Map(Object.entries(initial))
  let size = 0
  for (const [key, value] of items) size += sizeOf(key, value)
  let set: Record<string, string> = {}
  let removed = new Set<string>()
  let pending: Promise<unknown> | undefined
  let isScheduled = false

  /** Changes of one turn of the event loop travel together. What was refused once stays refused: memory and disk differ. */
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    const mine = Promise.all([pending, Promise.resolve().then(flush)])
    pending = mine
    mine.then(() => {
      if (pending === mine) pending = undefined
    }, onFailure)
  }

  function flush(): Promise<unknown> {
    const change = { set, remove: [...removed] }
    set = {}
    removed = new Set()
    isScheduled = false
    return write(change)
  }

  return {
    storage: {
      getItem: (key) => items.get(String(key)) ?? null,
      setItem(rawKey, rawValue) {
        const key = String(rawKey)
        const value = String(rawValue)
        const before = items.get(key)
        if (before === value) return
        const next = size - (before === undefined ? 0 : sizeOf(key, before)) + sizeOf(key, value)
        if (next > quota) {
          throw new Error(`storage is full: ${next} of ${quota} bytes; set MCM.STORAGE_MB, or remove items`)
        }
        size = next
        items.set(key, value)
        set[key] = value
        removed.delete(key)
        schedule()
      },
      removeItem(rawKey) {
        const key = String(rawKey)
        const before = items.get(key)
        if (before === undefined) return
        size -= sizeOf(key, before)
        items.delete(key)
        delete set[key]
        removed.add(key)
        schedule()
      },
      eachItem(visit) {
        for (const [key, value] of [...items]) visit(key, value)
      },
    },
    apply({ set: changed = {}, remove = [] }) {
      for (const key of remove) items.delete(key)
      for (const [key, value] of Object.entries(changed)) items.set(key, value)
      size = 0
      for (const [key, value] of items) size += sizeOf(key, value)
    },
    settled: () => pending,
  }
}
