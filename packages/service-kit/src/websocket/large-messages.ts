/** How many incomplete large messages there are: they are in memory, and need no credential. */
export interface LargeMessages {
  /** @returns false: there are too many already. A connection counts once. */
  reserve(of: object): boolean
  release(of: object): void
}

export function createLargeMessages(max: number): LargeMessages {
  const reserved = new Set<object>()
  return {
    reserve(of) {
      if (!reserved.has(of) && reserved.size >= max) return false
      reserved.add(of)
      return true
    },
    release: (of) => void reserved.delete(of),
  }
}
