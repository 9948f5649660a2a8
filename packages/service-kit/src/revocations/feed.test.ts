/** How the lists of revoked tokens of some issuers are fetched: which answers decide, and what is reported. */
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFakeClock } from '../testing/index.ts'
import { createTokenVerifier, revocationEntry, signJws } from '../tokens/index.ts'
import { createRevocationFeed, type FeedParts, type ListSource, type RevocationFeed } from './feed.ts'
import type { StoredLists } from './lists.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const issuer = 'https://issuer.example'
const other = 'https://other.example'
const clock = createFakeClock()
const now = () => Math.floor(clock.now() / 1000)
const revoked = [revocationEntry('id', 't')]

const signed = (more: object = {}) =>
  signJws(
    { typ: 'revocations+jwt', kid: 'k' },
    {
      ...{ iss: issuer, sub: issuer, aud: 'urn:selvedge:revocations', jti: 'l' },
      ...{ iat: now(), exp: now() + 60, seq: 1, mark: 'm', revoked: [], not_before: {} },
      ...more,
    },
    privateKey,
  )

/** Of `@selvedge/client`. */
const failure = (reason: string) => Object.assign(new Error('failed'), { kind: 'connection', reason })

type Answer = Awaited<ReturnType<ListSource['fetchList']>> | Error
let answer: Answer
let held: unknown[]
let troubles: string[]
let details: Record<string, unknown>[]
let fetched: unknown[][]
let feed: RevocationFeed
let stored: StoredLists
let isFull: boolean

const source = (of = issuer): ListSource => ({
  issuer: of,
  async fetchList(known) {
    held.push(known)
    if (answer instanceof Error) throw answer
    return answer
  },
})
const storage: FeedParts['storage'] = {
  get value() {
    return stored
  },
  async update(change) {
    if (isFull) throw new Error('the disk is full')
    stored = change(stored)
  },
}
const open = (more: Partial<FeedParts> = {}) =>
  createRevocationFeed({
    sources: () => [source()],
    storage,
    verifier: createTokenVerifier({
      issuers: () => [issuer, other].map((each) => ({ issuer: each, findKey: () => publicKey })),
      clock,
      remembered: 0,
    }),
    clock,
    isTimeTrusted: () => true,
    intervalSeconds: 60,
    firstFetchMs: 0,
    onTrouble(trouble, of, isSo, shown) {
      if (isSo) details.push({ trouble, ...shown })
      troubles = troubles.filter((each) => each !== `${trouble} ${of}`)
      if (isSo) troubles.push(`${trouble} ${of}`)
    },
    onAccepted: () => undefined,
    onFetched: (...each) => void fetched.push(each),
    ...more,
  })

beforeEach(() => {
  answer = { token: signed(), etag: '"1"' }
  held = []
  troubles = []
  details = []
  fetched = []
  stored = { lists: {} }
  isFull = false
  feed = open()
})
afterEach(() => feed.stop())

const reason = (of = issuer) => feed.reasonFor({ iss: of, jti: 't', iat: now() })

describe('an answer', () => {
  it('decides at once, is stored and is confirmed', async () => {
    const accepted: unknown[] = []
    const confirmed: string[] = []
    feed = open({
      onAccepted: (...each) => void accepted.push(each),
      onConfirmed: (of) => void confirmed.push(of),
    })
    answer = { token: signed({ revoked }), etag: '"1"' }
    expect(feed.confirmedAt(issuer)).toBe(Number.NEGATIVE_INFINITY)
    const before = performance.now()
    expect(await feed.fetchNow()).toBe(true)
    expect(reason()).toBe('it was revoked')
    expect(feed.confirmedAt(issuer)).toBeGreaterThanOrEqual(before)
    expect(accepted).toEqual([[undefined, feed.get(issuer)]])
    expect(confirmed).toEqual([issuer])
    expect(fetched).toEqual([[true, [now()]]])
    expect(stored.lists[issuer]).toMatchObject({ seq: 1, etag: '"1"', revoked })
    expect(feed.signedAt()).toEqual([now()])
    expect(troubles).toEqual([])
  })

  it('is requested with the mark of the list that is here, or with its ETag if it has no mark', async () => {
    await feed.fetchNow()
    await feed.fetchNow()
    stored = { lists: { [issuer]: { ...stored.lists[issuer]!, mark: '' } } }
    await feed.fetchNow()
    expect(held).toEqual([undefined, expect.objectContaining({ seq: 1, mark: 'm' }), '"1"'])
  })

  it('that nothing changed confirms the list, and reports that nothing is wrong', async () => {
    answer = { token: 'no list', etag: '' }
    expect(await feed.fetchNow()).toBe(false)
    expect(troubles).toEqual([`refused ${issuer}`])
    answer = 'unchanged'
    expect(await feed.fetchNow()).toBe(true)
    expect(troubles).toEqual([])
    expect(stored).toEqual({ lists: {} })
  })

  it('that another trusted issuer signed is refused', async () => {
    answer = { token: signed({ iss: other, sub: other, revoked }), etag: '"1"' }
    expect(await feed.fetchNow()).toBe(false)
    expect(troubles).toEqual([`refused ${issuer}`])
    expect(reason()).toBeUndefined()
    expect(reason(other)).toBeUndefined()
    expect(feed.confirmedAt(issuer)).toBe(Number.NEGATIVE_INFINITY)
  })

  it('that is older than what is held is refused, with its number and the reason', async () => {
    answer = { token: signed({ seq: 5 }), etag: '"5"' }
    await feed.fetchNow()
    answer = { token: signed({ seq: 4, iat: now() - 3600 }), etag: '"4"' }
    expect(await feed.fetchNow()).toBe(false)
    expect(details).toEqual([{ trouble: 'refused', seq: 4, why: expect.stringContaining('older') }])
    expect(fetched.at(-1)).toEqual([false, [now()]])
  })

  it('that went back is noted for the life of a token', async () => {
    answer = { token: signed({ seq: 5 }), etag: '"5"' }
    await feed.fetchNow()
    answer = { token: signed({ seq: 4 }), etag: '"4"' }
    expect(await feed.fetchNow()).toBe(true)
    expect(details).toEqual([{ trouble: 'restarted', seq: 4 }])
    const until = stored.lists[issuer]!.restartedUntil
    answer = 'unchanged'
    clock.set((until - 1) * 1000)
    await feed.fetchNow()
    expect(troubles).toEqual([`restarted ${issuer}`])
    clock.set(until * 1000)
    await feed.fetchNow()
    expect(troubles).toEqual([])
  })

  it('that is signed at another time is noted with that time, where this machine knows the time', async () => {
    const iat = now() + 3600
    answer = { token: signed({ iat, exp: iat + 60 }), etag: '"1"' }
    await feed.fetchNow()
    expect(details).toEqual([{ trouble: 'wrong_time', seq: 1, issuedAt: new Date(iat * 1000).toISOString() }])
    stored = { lists: {} }
    troubles = []
    feed = open({ isTimeTrusted: () => false })
    await feed.fetchNow()
    expect(troubles).toEqual([])
  })
})

describe('an issuer', () => {
  const failWith = async (...causes: readonly Error[]) => {
    for (const cause of causes) {
      answer = cause
      expect(await feed.fetchNow()).toBe(false)
    }
    return troubles
  }
  const away = failure('timeout')

  it('that does not run is away: nothing is wrong with its list', async () => {
    expect(await failWith(...Array.from({ length: 4 }, () => failure('not_running')))).toEqual([])
  })

  it('that answers three times without a list is reported', async () => {
    expect(await failWith(away, away)).toEqual([])
    expect(await failWith(away)).toEqual([`refused ${issuer}`])
    expect(details).toEqual([{ trouble: 'refused', cause: away }])
  })

  it('that answers is counted from the start', async () => {
    await failWith(away, away)
    answer = 'unchanged'
    await feed.fetchNow()
    expect(await failWith(away, away)).toEqual([])
  })

  it.each([failure('bad_answer'), new Error('any'), Object.assign(new Error('any'), { kind: 5 })])(
    'with an answer that cannot be read is refused at once: %o',
    async (cause) => {
      expect(await failWith(cause)).toEqual([`refused ${issuer}`])
    },
  )

  it('decides for itself: the failure of one does not change the list of another', async () => {
    feed = open({
      sources: () => [source(), { issuer: other, fetchList: () => Promise.reject(failure('not_running')) }],
    })
    answer = { token: signed({ revoked }), etag: '"1"' }
    expect(await feed.fetchNow()).toBe(false)
    expect(reason()).toBe('it was revoked')
  })
})

describe('a list that cannot be stored', () => {
  it('decides all the same, is reported, and is stored when there is room', async () => {
    isFull = true
    answer = { token: signed({ revoked }), etag: '"1"' }
    feed = open({ retryTimes: { firstMs: 1, maxMs: 1 } })
    expect(await feed.fetchNow()).toBe(true)
    expect(reason()).toBe('it was revoked')
    expect(troubles).toEqual([`not_stored ${issuer}`])
    expect(details[0]).toEqual({
      ...{ trouble: 'not_stored', seq: 1, issuedAt: new Date(now() * 1000).toISOString() },
      cause: expect.any(Error),
    })
    isFull = false
    await expect.poll(() => troubles).toEqual([])
    expect(stored.lists[issuer]?.revoked).toEqual(revoked)
  })

  it('is stored at the latest when the program stops', async () => {
    isFull = true
    await feed.fetchNow()
    isFull = false
    await feed.stop()
    expect(stored.lists[issuer]?.seq).toBe(1)
  })

  it('is stored beside those of other issuers', async () => {
    await feed.fetchNow()
    answer = { token: signed({ iss: other, sub: other }), etag: '"2"' }
    feed = open({ sources: () => [source(other)] })
    await feed.fetchNow()
    expect(Object.keys(stored.lists)).toEqual([issuer, other])
    // After a restart they decide without a network.
    expect(open().signedAt()).toHaveLength(2)
  })
})

describe('the schedule', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())
  const settle = async () => {
    for (let at = 0; at < 20; at++) await new Promise(setImmediate)
  }

  it('fetches first after its time, then after 90 to 100 % of the interval, also after a failure', async () => {
    answer = failure('not_running')
    feed = open({ firstFetchMs: 500, intervalSeconds: 100 })
    feed.start()
    vi.advanceTimersByTime(499)
    expect(held).toHaveLength(0)
    vi.advanceTimersByTime(1)
    expect(held).toHaveLength(1)
    await settle()
    vi.advanceTimersByTime(89_999)
    expect(held).toHaveLength(1)
    vi.advanceTimersByTime(10_001)
    expect(held).toHaveLength(2)
  })

  it('stops, also while a list is fetched', async () => {
    feed.start()
    vi.advanceTimersByTime(1)
    expect(held).toHaveLength(1)
    const end = feed.stop()
    await settle()
    await end
    expect(stored.lists[issuer]?.seq).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
    feed = open()
    feed.start()
    await feed.stop()
    expect(vi.getTimerCount()).toBe(0)
  })
})

it('stops after a fetch that fails by itself', async () => {
  feed = open({
    sources: () => {
      throw new Error('the configuration is away')
    },
  })
  const failed = feed.fetchNow()
  await Promise.all([expect(failed).rejects.toThrow('the configuration is away'), feed.stop()])
  expect(fetched).toEqual([])
})
