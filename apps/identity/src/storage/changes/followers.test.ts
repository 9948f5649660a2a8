/** Parts with something in memory: one that could not follow a change is stale until it was read again, and the others are not. */
import { createMemoryLog } from '@selvedge/service-kit/testing'
import { beforeEach, expect, it } from 'vitest'
import { createFollowers, type Followers } from './followers.ts'

let followers: Followers
let log: ReturnType<typeof createMemoryLog>
let seen: string[]
const broken = new Set<string>()

beforeEach(() => {
  log = createMemoryLog()
  followers = createFollowers(log)
  seen = []
  broken.clear()
})

const note = (name: string, what: string) => {
  seen.push(`${name} ${what}`)
  if (broken.has(`${name} ${what}`)) throw new Error('broken')
}
const follow = (name: string, topic: 'node' | 'project' = 'node') =>
  followers.follow(topic, {
    changed: (subject) => note(name, subject),
    reload: async () => note(name, 'reload'),
  })

it('a change reaches the followers of its topic, in the order in which they follow', async () => {
  const all = [follow('one'), follow('other'), follow('third', 'project')]
  await followers.notify('node', 'n')
  expect(seen).toEqual(['one n', 'other n'])
  expect(all.map(({ isStale }) => isStale)).toEqual([false, false, false])
  await followers.reloadStale()
  expect(seen).toHaveLength(2)
  expect(followers.hasStale()).toBe(false)
})

it('a follower that fails is stale, gets no change until it was read again, and does not stop the others', async () => {
  const [one, other] = [follow('one'), follow('other')]
  broken.add('one n')
  await followers.notify('node', 'n')
  expect([one.isStale, other.isStale, followers.hasStale()]).toEqual([true, false, true])
  expect(log.lines.join()).toContain('could not be followed')
  await followers.notify('node', 'm')
  expect(seen).toEqual(['one n', 'other n', 'other m'])
  await followers.reloadStale()
  expect(seen.at(-1)).toBe('one reload')
  expect([one.isStale, followers.hasStale()]).toEqual([false, false])
  broken.clear()
  await followers.notify('node', 'n')
  expect(seen.slice(-2)).toEqual(['one n', 'other n'])
})

it('a follower that cannot be read again stays stale, and the next ones are read', async () => {
  const [one, other] = [follow('one'), follow('other')]
  followers.distrust()
  expect([one.isStale, other.isStale]).toEqual([true, true])
  broken.add('one reload')
  await followers.reloadStale()
  expect([one.isStale, other.isStale, followers.hasStale()]).toEqual([true, false, true])
  broken.clear()
  await followers.reloadStale()
  expect(seen).toEqual(['one reload', 'other reload', 'one reload'])
  expect(followers.hasStale()).toBe(false)
})
