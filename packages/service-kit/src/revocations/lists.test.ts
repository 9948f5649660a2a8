/** What an answer of an issuer does to the list of revoked tokens that is held. */
import type { RevocationsClaims } from '@selvedge/protocol/tokens'
import { describe, expect, it } from 'vitest'
import { applyList, type Now, restartedAt, type StoredList, storedLists, toLive } from './lists.ts'

const now = 1_800_000_000
const lifeSeconds = 86_400 + 300
const trusted: Now = { now, isTrusted: true }
const untrusted: Now = { now, isTrusted: false }

const list = (more: Partial<StoredList> = {}): StoredList => ({
  iat: now,
  seq: 5,
  mark: 'm5',
  etag: '"5"',
  revoked: [],
  not_before: {},
  epochs: {},
  restartedUntil: 0,
  retained: [],
  ...more,
})

const claims = (more: Partial<RevocationsClaims> = {}): RevocationsClaims =>
  ({
    iss: 'https://issuer.example',
    iat: now,
    seq: 6,
    mark: 'm6',
    revoked: [],
    not_before: {},
    ...more,
  }) as RevocationsClaims

/** @throws if the list is refused */
function accepted(held: StoredList | undefined, more: Partial<RevocationsClaims>, at = trusted) {
  const applied = applyList(held, claims(more), '"6"', at)
  if (applied.outcome === 'refused') throw new Error(applied.why)
  return applied
}
const isRefused = (held: StoredList | undefined, more: Partial<RevocationsClaims>, at = trusted) =>
  applyList(held, claims(more), '"6"', at).outcome === 'refused'

describe('a whole list', () => {
  it('is stored as it is where nothing is held', () => {
    const content = { revoked: ['a'], not_before: { b: 1 }, epochs: { c: 2 } }
    expect(accepted(undefined, content)).toEqual({
      outcome: 'accepted',
      list: list({ seq: 6, mark: 'm6', etag: '"6"', ...content }),
      hasWrongTime: false,
    })
  })

  it('of an older service has neither a mark nor numbers of changes', () => {
    const { mark: _, ...older } = claims()
    const applied = applyList(undefined, older as RevocationsClaims, '"6"', trusted)
    expect(applied).toMatchObject({ list: { mark: '', epochs: {} } })
  })

  it('makes nothing valid again: what it does not name stays for the life of a token, rounded up to an hour', () => {
    const held = list({ revoked: ['a', 'b'], not_before: { c: 10, d: 10 }, epochs: { e: 3, f: 3 } })
    const { list: next } = accepted(held, { revoked: ['b'], not_before: { d: 10 }, epochs: { f: 4 } })
    const until = Math.ceil((now + lifeSeconds) / 3600) * 3600
    expect(next.retained).toEqual([{ until, revoked: ['a'], not_before: { c: 10 }, epochs: { e: 3 } }])
    expect(next.revoked).toEqual(['b'])
  })

  it.each([
    ['names', { revoked: ['a'] }],
    ['times', { not_before: { a: 0 } }],
    ['numbers', { epochs: { a: 0 } }],
  ])('retains %s alone as well', (_, content) => {
    expect(accepted(list(content), {}).list.retained).toMatchObject([content])
  })

  it('retains nothing where everything is named again', () => {
    const content = { revoked: ['a'], not_before: { b: 1 }, epochs: { c: 1 } }
    expect(accepted(list(content), content).list.retained).toEqual([])
  })

  it('retains a time or a number that became smaller', () => {
    const held = list({ not_before: { a: 10 }, epochs: { b: 10 } })
    const next = accepted(held, { not_before: { a: 9 }, epochs: { b: 9 } }).list
    expect(toLive(next).endings.get('a')?.notBefore).toBe(10)
    expect(toLive(next).endings.get('b')?.epoch).toBe(10)
  })

  it('adds to what is retained until the same hour, and keeps the larger of two numbers', () => {
    const first = accepted(list({ revoked: ['a'], not_before: { n: 30 }, epochs: { e: 30 } }), {
      seq: 6,
      revoked: ['b'],
      not_before: { n: 20 },
      epochs: { e: 20 },
    }).list
    const second = accepted(first, { seq: 7, not_before: { n: 10 }, epochs: { e: 10 } }).list
    expect(second.retained).toMatchObject([{ revoked: ['a', 'b'], not_before: { n: 30 }, epochs: { e: 30 } }])
    const later = accepted(
      { ...second, revoked: ['c'] },
      { seq: 8 },
      { now: now + 3600, isTrusted: true },
    ).list
    expect(later.retained.map(({ revoked }) => revoked)).toEqual([['a', 'b'], ['c']])
  })

  it('forgets what was retained once its time is over, by a clock that is trusted', () => {
    const one = { revoked: ['a'], not_before: {}, epochs: {} }
    const held = list({
      retained: [
        { until: now, ...one },
        { until: now + 1, ...one },
      ],
    })
    expect(accepted(held, {}).list.retained.map(({ until }) => until)).toEqual([now + 1])
    expect(accepted(held, {}, untrusted).list.retained).toHaveLength(2)
  })
})

describe('a list that is reset', () => {
  it('is refused with a smaller number, unless it was signed later', () => {
    expect(isRefused(list(), { seq: 4, iat: now - 61 })).toBe(true)
    expect(isRefused(list(), { seq: 4, iat: now - 60 })).toBe(false)
    expect(isRefused(list(), { seq: 5, iat: now - 61 })).toBe(false)
    expect(isRefused(undefined, { seq: 4, iat: now - 61 })).toBe(false)
  })

  it('is accepted where the one that is held was signed in the future, which proves nothing', () => {
    const future = list({ iat: now + 601 })
    expect(isRefused(future, { seq: 4 })).toBe(false)
    expect(isRefused(list({ iat: now + 600 }), { seq: 4 })).toBe(true)
    expect(isRefused(future, { seq: 4 }, untrusted)).toBe(true)
  })

  it('that states its restart is one, also with a larger number', () => {
    expect(isRefused(list(), { seq: 9, restarted: true, iat: now - 61 })).toBe(true)
    const { list: next } = accepted(list(), { seq: 9, restarted: true })
    expect(restartedAt(next)).toBe(now)
    expect(next.restartedUntil).toBe(now + lifeSeconds)
  })

  it('is noted for the life of a token; any other list is not', () => {
    expect(restartedAt(list())).toBeUndefined()
    expect(restartedAt(accepted(undefined, { restarted: true }).list)).toBeUndefined()
    expect(restartedAt(accepted(list(), {}).list)).toBeUndefined()
    const noted = list({ restartedUntil: now + 7 })
    expect(accepted(noted, {}).list.restartedUntil).toBe(now + 7)
    expect(accepted(noted, { since: 5 }).list.restartedUntil).toBe(now + 7)
  })
})

describe('changes', () => {
  const held = list({ revoked: ['a', 'b'], not_before: { c: 1, d: 1 }, epochs: { e: 1, f: 1 } })

  it('add entries, remove those that expired, and leave all others', () => {
    const { list: next } = accepted(held, {
      since: 5,
      ended: ['a', 'c', 'e'],
      revoked: ['b', 'g'],
      not_before: { h: 2 },
      epochs: { i: 2 },
    })
    expect(next).toEqual(
      list({
        ...{ seq: 6, mark: 'm6', etag: '"6"' },
        ...{ revoked: ['b', 'g'], not_before: { d: 1, h: 2 }, epochs: { f: 1, i: 2 } },
      }),
    )
    const { list: same } = accepted(held, {
      since: 5,
      revoked: ['g'],
      not_before: { d: 2 },
      epochs: { f: 2 },
    })
    expect(same).toMatchObject({
      revoked: ['a', 'b', 'g'],
      not_before: { c: 1, d: 2 },
      epochs: { e: 1, f: 2 },
    })
    expect(same.retained).toEqual([])
  })

  it('of a list that is not held are refused', () => {
    for (const since of [4, 6]) expect(isRefused(held, { since, seq: 7 })).toBe(true)
    expect(isRefused(undefined, { since: 5 })).toBe(true)
    expect(isRefused(held, { since: 5, seq: 4 })).toBe(true)
    expect(isRefused(held, { since: 5, seq: 5 })).toBe(false)
  })

  it('of an issuer with a wrong clock remove nothing yet', () => {
    const { list: next, hasWrongTime } = accepted(held, { since: 5, ended: ['a'], iat: now + 601 })
    expect(hasWrongTime).toBe(true)
    expect(toLive(next).revoked).toEqual(new Set(['a', 'b']))
  })
})

it.each([
  [600, trusted, false],
  [601, trusted, true],
  [-601, trusted, true],
  [-600, trusted, false],
  [601, untrusted, false],
])('a list that is signed %i s from now has a wrong time: %j, %s', (by, at, expected) => {
  expect(accepted(undefined, { iat: now + by }, at).hasWrongTime).toBe(expected)
})

describe('what decides', () => {
  it('is the list with all that is retained, by the latest time and number of each', () => {
    const { revoked, endings } = toLive(
      list({
        ...{ revoked: ['a'], not_before: { n: 5, o: 9 }, epochs: { e: 1, n: 4 } },
        retained: [
          { until: now, revoked: ['b'], not_before: { n: 7, o: 3 }, epochs: { n: 2 } },
          { until: now + 1, revoked: [], not_before: { p: 1 }, epochs: { n: 6, p: 0 } },
          { until: now + 2, revoked: [], not_before: {}, epochs: { n: 3 } },
        ],
      }),
    )
    expect(revoked).toEqual(new Set(['a', 'b']))
    expect(Object.fromEntries(endings)).toEqual({
      n: { notBefore: 7, epoch: 6 },
      o: { notBefore: 9, epoch: undefined },
      e: { notBefore: 0, epoch: 1 },
      p: { notBefore: 1, epoch: 0 },
    })
  })
})

it('a stored list from before there were marks and numbers is read', () => {
  const { mark: _, epochs: __, restartedUntil: ___, retained: ____, ...older } = list()
  expect(storedLists.parse({ lists: { i: older } })).toEqual({ lists: { i: list({ mark: '' }) } })
  const part = { until: 1, revoked: [], not_before: {} }
  const parsed = storedLists.parse({ lists: { i: { ...older, retained: [part] } } })
  expect(parsed.lists.i?.retained).toEqual([{ ...part, epochs: {} }])
  for (const wrong of [{ lists: { i: { ...older, other: 1 } } }, { lists: {}, other: 1 }, {}])
    expect(storedLists.safeParse(wrong).success).toBe(false)
})
