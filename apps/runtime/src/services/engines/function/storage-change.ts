/** Sizes of the items of a storage, and changes cut to the size of a frame. Both ends of the control line use this file. */
import type { StorageChange, StorageItem } from './control.ts'

/** Items or keys in one change. */
export const maxItems = 1000
/** UTF-8 bytes of a key. */
export const maxKeyBytes = 16 * 1024
/** UTF-8 bytes of a tag. */
export const maxTagBytes = 256
/** Bytes of one frame of a long value. */
export const chunkBytes = 128 * 1024

/** JSON bytes of one change; a single item that is larger travels as a long value. */
const changeBytes = 160 * 1024

const encoder = new TextEncoder()
const encode = encoder.encode.bind(encoder)
const { stringify } = JSON
const sorted = Function.prototype.call.bind(Array.prototype.sort) as (
  items: Grown[],
  compare: (a: Grown, b: Grown) => number,
) => Grown[]

/** Bytes that an item counts for: key, value and tag in UTF-8, and 64 for what it costs to store anything. */
export const sizeOf = (key: string, value: string, tag = ''): number =>
  64 + encode(key).length + encode(value).length + (tag === '' ? 0 : encode(tag).length)

export interface Grown {
  readonly item: StorageItem
  /** Bytes by which the storage grows with it. */
  readonly growth: number
}

/**
 * Cuts changes to the size of a frame, in an order in which no prefix of them needs more room than the beginning or the end.
 *
 * @param set items to be stored
 * @param remove keys to be removed
 */
export function cutChanges(set: Grown[], remove: readonly string[]): StorageChange[] {
  const changes: StorageChange[] = []
  const add = (change: StorageChange) => {
    changes[changes.length] = change
  }
  cut(
    remove,
    (key) => stringify(key).length,
    (keys) => add({ remove: keys }),
  )
  const small: StorageItem[] = []
  const flush = () => {
    cut(
      small,
      (item) => stringify(item).length,
      (items) => add({ set: items }),
    )
    small.length = 0
  }
  sorted(set, (a, b) => a.growth - b.growth)
  for (let at = 0; at < set.length; at++) {
    const { item } = set[at]!
    const value = encode(item[1])
    if (value.length <= chunkBytes / 8) small[small.length] = item
    else {
      flush()
      add({ setLong: item[0], ...(item[2] !== undefined && { tag: item[2] }), value })
    }
  }
  flush()
  return changes
}

/** @param costOf characters of one element as JSON; every character is at most three bytes */
function cut<T>(all: readonly T[], costOf: (each: T) => number, emit: (part: T[]) => void): void {
  let part: T[] = []
  let cost = 0
  for (let at = 0; at < all.length; at++) {
    const own = 8 + 3 * costOf(all[at]!)
    if (part.length === maxItems || (part.length > 0 && cost + own > changeBytes)) {
      emit(part)
      part = []
      cost = 0
    }
    part[part.length] = all[at]!
    cost += own
  }
  if (part.length > 0) emit(part)
}
