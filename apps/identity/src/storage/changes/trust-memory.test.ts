/** Memory for decisions about trust: it refuses while it may be outdated, and never stores what was read before a change. */
import { beforeEach, describe, expect, it } from 'vitest'
import { createTrustCache, type Follow, type Follower, openTrustCopy } from './trust-cache.ts'

let follower: Follower
let topic: string
let isOutdated: boolean
const follow: Follow = (own, each) => {
  topic = own
  follower = each
  return () => {
    if (isOutdated) throw new Error('outdated')
  }
}
beforeEach(() => {
  isOutdated = false
})

describe('a cache', () => {
  const stored = new Map<string, string>()
  let reads: string[]
  let changed: string[]
  const open = (limit = 10) =>
    createTrustCache<string>(follow, {
      topic: 'node',
      limit,
      async read(subject) {
        reads.push(subject)
        return stored.get(subject)
      },
      onChange: (subject) => void changed.push(subject),
    })
  beforeEach(() => {
    stored.clear()
    stored.set('n', 'one')
    reads = []
    changed = []
  })

  it('reads once, until the subject changes', async () => {
    const cache = open()
    expect(topic).toBe('node')
    expect(cache.get('n')).toBeUndefined()
    expect([await cache.find('n'), await cache.find('n'), cache.get('n')]).toEqual(['one', 'one', 'one'])
    await cache.find('m')
    expect(reads).toEqual(['n', 'm'])
    stored.set('n', 'two')
    await follower.changed('m')
    expect(await cache.find('n')).toBe('one')
    await follower.changed('n')
    expect(cache.get('n')).toBeUndefined()
    expect(await cache.find('n')).toBe('two')
    expect(changed).toEqual(['m', 'n'])
  })

  it('is empty after changes were missed', async () => {
    const cache = open()
    await cache.find('n')
    await follower.reload()
    expect(cache.get('n')).toBeUndefined()
    expect(changed).toEqual([])
  })

  it('does not store what is absent, nor more than its limit', async () => {
    const cache = open(4)
    expect([await cache.find('x'), await cache.find('x')]).toEqual([undefined, undefined])
    expect(reads).toEqual(['x', 'x'])
    const names = ['n', 'a', 'b', 'c', 'd']
    for (const name of names) {
      stored.set(name, name)
      await cache.find(name)
    }
    expect(names.filter((name) => cache.get(name) !== undefined).length).toBeLessThanOrEqual(4)
    expect([cache.get('n'), cache.get('d')]).toEqual([undefined, 'd'])
  })

  it.each([
    ['a change', () => follower.changed('any')],
    ['missed changes', () => follower.reload()],
  ])('does not store what was read before %s and arrives after it', async (_, change) => {
    const cache = open()
    const value = await cache.fill('n', async () => {
      await change()
      return 'old'
    })
    expect(value).toBe('old')
    expect(cache.get('n')).toBeUndefined()
    expect(await cache.fill('n', async () => 'new')).toBe('new')
    expect(cache.get('n')).toBe('new')
  })

  it('refuses while it may be outdated, also what became so while it was read', async () => {
    const cache = open()
    await cache.find('n')
    isOutdated = true
    expect(() => cache.get('n')).toThrow('outdated')
    await expect(cache.find('n')).rejects.toThrow('outdated')
    isOutdated = false
    const slow = createTrustCache<string>(follow, {
      ...{ topic: 'node', limit: 10 },
      read: async () => {
        isOutdated = true
        return 'late'
      },
    })
    await expect(slow.find('n')).rejects.toThrow('outdated')
  })
})

describe('a copy', () => {
  const all = new Map<string, string>()
  let changes: number
  const open = (readNew?: () => Promise<ReadonlyMap<string, string>>) =>
    openTrustCopy<string>(follow, {
      topic: 'keys',
      readAll: async () => all,
      onChange: () => changes++,
      ...(readNew && { readNew }),
    })
  beforeEach(() => {
    all.clear()
    all.set('k', 'one')
    changes = 0
  })

  it('has all entries from its beginning, and reads them again after a change', async () => {
    const copy = await open()
    expect(topic).toBe('keys')
    expect([copy.get('k'), copy.get('x')]).toEqual(['one', undefined])
    expect(copy.all()).toEqual(new Map([['k', 'one']]))
    expect(changes).toBe(1)
    all.delete('k')
    all.set('l', 'two')
    expect(copy.get('k')).toBe('one')
    await follower.changed('')
    expect([...copy.all()]).toEqual([['l', 'two']])
    expect(changes).toBe(2)
  })

  it('reads what is new alone, if that is known, and all after changes were missed', async () => {
    const copy = await open(async () => new Map([['l', 'two']]))
    all.clear()
    await follower.changed('')
    expect([...copy.all()]).toEqual([
      ['k', 'one'],
      ['l', 'two'],
    ])
    await follower.reload()
    expect([...copy.all()]).toEqual([])
    expect(changes).toBe(3)
  })

  it('reads again what may have been read before a change', async () => {
    const results = [new Map([['k', 'old']]), new Map([['k', 'new']])]
    let reads = 0
    let before = async () => {}
    const copy = await openTrustCopy<string>(follow, {
      topic: 'keys',
      readAll: async () => {
        await before()
        return results[Math.min(reads++, 1)]!
      },
      readNew: async () => new Map(),
    })
    expect(copy.get('k')).toBe('old')
    reads = 0
    before = async () => {
      before = async () => {}
      await follower.changed('')
    }
    await follower.reload()
    expect([reads, copy.get('k')]).toEqual([2, 'new'])
  })

  it('refuses while it may be outdated, but for what never becomes wrong', async () => {
    const copy = await open()
    isOutdated = true
    expect(() => copy.get('k')).toThrow('outdated')
    expect(() => copy.all()).toThrow('outdated')
    expect(copy.held().get('k')).toBe('one')
  })

  it('drops what has expired', async () => {
    all.set('l', 'two')
    const copy = await open()
    copy.prune((value) => value === 'one')
    expect([...copy.all()]).toEqual([['l', 'two']])
    expect(all.size).toBe(2)
  })
})
