/** Which stored things make room for new ones. */
import { protection } from './limits.ts'

/** Something on the disk that nothing uses at present. */
export interface Unused {
  /** The owner: account and client. */
  readonly owner: string
  /** Bytes that its removal frees. */
  readonly bytes: number
  /** Unix milliseconds. */
  readonly usedAt: number
}

/**
 * What may be removed for an owner, in this order, each time the longest unused first (LRU): what was neither deployed nor used
 * within the last day; what other owners stored beyond their share; what the owner stored within the last day.
 *
 * @param now Unix milliseconds
 * @param protectedBytes share of each other owner: the newest of what it stored within the last day
 */
export function evictableFor<T extends Unused>(
  owner: string,
  all: readonly T[],
  now: number,
  protectedBytes: number,
): T[] {
  const oldestFirst = [...all].sort((one, other) => one.usedAt - other.usedAt)
  const isOld = ({ usedAt }: T) => now - usedAt >= protection.ms
  const recent = oldestFirst.filter((each) => !isOld(each))
  const spent = new Map<string, number>()
  const isBeyondShare = (each: T): boolean => {
    const bytes = (spent.get(each.owner) ?? 0) + each.bytes
    spent.set(each.owner, bytes)
    return each.owner !== owner && bytes > protectedBytes
  }
  const excess = recent.toReversed().filter(isBeyondShare).reverse()
  const own = recent.filter((each) => each.owner === owner)
  return [...oldestFirst.filter(isOld), ...excess, ...own]
}
