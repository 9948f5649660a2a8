import { expect, it } from 'vitest'
import { RecentMap } from './recent-map.ts'

/** A map of at most four entries with the keys 1 to `count`, each its own value. */
function fill(count: number): RecentMap<number, number> {
  const map = new RecentMap<number, number>(4)
  for (let key = 1; key <= count; key++) map.set(key, key)
  return map
}
const keysOf = (map: RecentMap<number, number>) => [1, 2, 3, 4, 5].filter((key) => map.get(key) !== undefined)

it('has as many entries as its limit, and drops the oldest ones first', () => {
  // A new map for each key, since reading changes the order.
  for (const key of [1, 2, 3, 4]) expect(fill(4).get(key)).toBe(key)
  for (const key of [1, 2]) expect(fill(5).get(key)).toBeUndefined()
  for (const key of [3, 4, 5]) expect(fill(5).get(key)).toBe(key)
})

it('keeps an entry that is used, however many others come', () => {
  const map = fill(1)
  for (let key = 2; key < 100; key++) {
    expect(map.get(1)).toBe(1)
    map.set(key, key)
  }
})

it('drops nothing for keys that it does not have', () => {
  const map = fill(2)
  for (let key = 100; key < 200; key++) expect(map.get(key)).toBeUndefined()
  expect(keysOf(map)).toEqual([1, 2])
})

it.each([0, 1])('with a limit of %d stores nothing', (limit) => {
  const map = new RecentMap<string, number>(limit)
  map.set('a', 1)
  expect(map.get('a')).toBeUndefined()
})

it('deletes an entry, however old, and no other one', () => {
  for (const key of [1, 4]) {
    const map = fill(4)
    map.delete(key)
    expect(keysOf(map)).not.toContain(key)
    expect(map.get(key === 1 ? 2 : 3)).toBeDefined()
  }
})

it('is empty after it is cleared', () => {
  const map = fill(4)
  map.clear()
  expect(keysOf(map)).toEqual([])
})
