/**
 * An approximate LRU cache with at least the last `limit / 2` used entries and at most `limit`. It has two generations instead of an ordered list:
 * a used entry of the older generation moves to the younger one, and when that is full, the older one is dropped. A limit of 0 stores nothing.
 */
export class RecentMap<K, V> {
  #young = new Map<K, V>()
  #old = new Map<K, V>()
  readonly #half: number
  constructor(limit: number) {
    this.#half = Math.floor(limit / 2)
  }
  get(key: K): V | undefined {
    if (this.#half === 0) return undefined
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const older = this.#old.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }
  set(key: K, value: V): void {
    if (this.#half === 0) return
    if (this.#young.size >= this.#half) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }
  delete(key: K): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
  clear(): void {
    this.#young.clear()
    this.#old.clear()
  }
}
