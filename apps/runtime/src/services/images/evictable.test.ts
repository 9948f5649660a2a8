import { expect, it } from 'vitest'
import { evictableFor, type Unused } from './evictable.ts'

const hour = 3_600_000
const now = 1000 * 24 * hour
interface Item extends Unused {
  readonly name: string
}
const item = (name: string, owner: string, hoursAgo: number, bytes = 10): Item => ({
  name,
  owner,
  bytes,
  usedAt: now - hoursAgo * hour,
})
const namesFor = (owner: string, items: readonly Item[], protectedBytes = 100) =>
  evictableFor(owner, items, now, protectedBytes).map(({ name }) => name)

it('an owner makes room among its own things, the longest unused first', () => {
  const items = [item('newer', 'own', 1), item('older', 'own', 2), item('oldest', 'own', 3)]
  expect(namesFor('own', items)).toEqual(['oldest', 'older', 'newer'])
})

it('what others used within the last day stays; what is older makes room, of every owner', () => {
  const items = [item('23 hours', 'other', 23), item('24 hours', 'other', 24), item('own', 'own', 30)]
  expect(namesFor('own', items)).toEqual(['own', '24 hours'])
})

it('of an owner beyond its share, the oldest make room before what the caller used within the last day', () => {
  const others = [1, 2, 3, 4].map((hours) => item(`other ${hours}`, 'other', hours, 40))
  const items = [...others, item('third', 'third', 5, 100), item('own', 'own', 6)]
  expect(namesFor('own', items)).toEqual(['other 4', 'other 3', 'own'])
})

it('what others used at a time that the clock has not reached yet stays', () => {
  expect(namesFor('own', [item('later', 'other', -100)])).toEqual([])
})
