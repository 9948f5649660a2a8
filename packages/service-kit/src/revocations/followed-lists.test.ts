/** A service decides by the lists of the issuers that it trusts only while they are fresh; what was revoked stays revoked. */
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SqlStore } from '../store/index.ts'
import { createFakeClock, createMemoryLog, openMemoryStore } from '../testing/index.ts'
import { createTokenVerifier, revocationEntry, signJws } from '../tokens/index.ts'
import type { ListSource } from './feed.ts'
import { type FollowedLists, type FollowedListsParts, openFollowedLists } from './followed-lists.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const issuer = 'https://issuer.example'
const clock = createFakeClock()
const iat = Math.floor(clock.now() / 1000)
const claims = { iss: issuer, jti: 't', iat }

const signed = (names: readonly string[], more: object = {}) =>
  signJws(
    { typ: 'revocations+jwt', kid: 'k' },
    {
      ...{ iss: issuer, sub: issuer, aud: 'urn:selvedge:revocations', jti: 'l', iat, exp: iat + 60 },
      ...{ seq: 1, not_before: {}, revoked: names.map((each) => revocationEntry('id', each)) },
      ...more,
    },
    privateKey,
  )

let database: SqlStore
let answer: (() => ReturnType<ListSource['fetchList']>) | undefined
let fetches: number
let log: ReturnType<typeof createMemoryLog>
let lists: FollowedLists

const open = (more: Partial<FollowedListsParts> = {}) =>
  openFollowedLists({
    sources: () => [
      {
        issuer,
        async fetchList() {
          fetches++
          if (!answer) throw Object.assign(new Error('down'), { kind: 'connection', reason: 'not_running' })
          return answer()
        },
      },
    ],
    verifier: createTokenVerifier({
      issuers: () => [{ issuer, findKey: () => publicKey }],
      clock,
      remembered: 0,
    }),
    database,
    clock,
    log,
    intervalSeconds: 3600,
    maxAgeSeconds: 100,
    ...more,
  })
const answerWith = (names: readonly string[], more: object = {}) => {
  answer = async () => ({ token: signed(names, more), etag: '"1"' })
}

beforeEach(async () => {
  database = openMemoryStore(['CREATE TABLE revocation_lists (issuer TEXT PRIMARY KEY, list TEXT NOT NULL)'])
  answer = undefined
  fetches = 0
  log = createMemoryLog()
  lists = await open()
})
afterEach(async () => {
  vi.useRealTimers()
  await lists.stop()
  await database.close()
})

describe('a token', () => {
  it('is judged by a fetched list, which is not fetched again while it is fresh', async () => {
    answerWith(['t'])
    expect(await lists.reasonAgainst({ ...claims, jti: 'u' })).toBeUndefined()
    expect(await lists.reasonAgainst(claims)).toBe('it was revoked')
    expect(await lists.reasonAgainst({ ...claims, jti: 'u' })).toBeUndefined()
    expect(fetches).toBe(1)
  })

  it('is refused in the answer of the same request where the list that came names it', async () => {
    answerWith(['t'])
    expect(await lists.reasonAgainst(claims)).toBe('it was revoked')
  })

  it('is refused without a list: 503, with a time to come back', async () => {
    await expect(lists.reasonAgainst(claims)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      status: 503,
      retryAfter: 5,
    })
  })

  it('is refused once the list is too old, and not before', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    answerWith([])
    await lists.reasonAgainst(claims)
    answer = undefined
    vi.advanceTimersByTime(100_000)
    expect(await lists.reasonAgainst(claims)).toBeUndefined()
    vi.advanceTimersByTime(1)
    await expect(lists.reasonAgainst(claims)).rejects.toThrow(/100 s/)
    expect(lists.revokedReason(claims)).toBeUndefined()
    expect(lists.oldestAgeSeconds()).toBe(100.001)
  })

  it('that was revoked stays so after a restart, however old the list is', async () => {
    answerWith(['t'])
    await lists.reasonAgainst(claims)
    await lists.stop()
    answer = undefined
    lists = await open()
    fetches = 0
    expect(await lists.reasonAgainst(claims)).toBe('it was revoked')
    expect(lists.revokedReason(claims)).toBe('it was revoked')
    expect(fetches).toBe(0)
    expect(lists.revokedReason({ ...claims, jti: 'u' })).toBeUndefined()
  })

  it('waits for a list for two seconds; the fetch continues, and answers the next request', async () => {
    let send: (answer: { token: string; etag: string }) => void = () => undefined
    answer = () => new Promise((resolve) => void (send = resolve))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const refused = expect(lists.reasonAgainst(claims)).rejects.toMatchObject({ status: 503 })
    const second = lists.reasonAgainst(claims)
    await vi.advanceTimersByTimeAsync(1999)
    const state = await Promise.race([second.then(String, String), Promise.resolve('waits')])
    expect(state).toBe('waits')
    await vi.advanceTimersByTimeAsync(1)
    await refused
    await expect(second).rejects.toMatchObject({ status: 503 })
    vi.useRealTimers()
    send({ token: signed([]), etag: '"1"' })
    await expect.poll(() => lists.reasonAgainst(claims).catch(() => 'refused')).toBeUndefined()
    expect(fetches).toBe(1)
  })
})

describe('the age of the oldest list', () => {
  it('is unknown until each issuer confirmed its own, and 0 without an issuer', async () => {
    expect(lists.oldestAgeSeconds()).toBeUndefined()
    expect((await open({ sources: () => [] })).oldestAgeSeconds()).toBe(0)
    answerWith([])
    await lists.reasonAgainst(claims)
    expect(lists.oldestAgeSeconds()).toBeGreaterThan(0)
    expect(lists.oldestAgeSeconds()).toBeLessThan(60)
  })
})

it('each listener is called after each change, and after no other answer', async () => {
  const calls: string[] = []
  lists.onRevocation(() => void calls.push('a'))
  lists.onRevocation(() => void calls.push('b'))
  answerWith(['t'])
  lists.start()
  await expect.poll(() => calls).toEqual(['a', 'b'])
  await lists.stop()
  lists = await open({ maxAgeSeconds: -1 })
  lists.onRevocation(() => void calls.push('c'))
  answer = async () => 'unchanged'
  await lists.reasonAgainst({ ...claims, jti: 'u' }).catch(() => undefined)
  expect(calls).toEqual(['a', 'b'])
})

it('trouble is logged once, with its reason, and once when it is over', async () => {
  const logged: unknown[] = []
  const note = (level: string) => (_: string, details?: object) => void logged.push({ level, ...details })
  lists = await open({ maxAgeSeconds: -1, log: { ...log, warn: note('warn'), info: note('info') } })
  const ask = () => lists.reasonAgainst(claims).catch(() => undefined)
  answer = async () => ({ token: 'no list', etag: '' })
  await ask()
  await ask()
  const trouble = { level: 'warn', trouble: 'refused', issuer, cause: expect.any(Error) }
  expect(logged).toEqual([trouble])
  answer = async () => 'unchanged'
  await ask()
  await ask()
  expect(logged.slice(1)).toEqual([{ level: 'info', trouble: 'refused', issuer }])
  answer = async () => ({ token: 'no list', etag: '' })
  await ask()
  expect(logged.slice(2)).toEqual([trouble])
})

it('each trouble of an issuer is logged by itself: by a clock that is trusted', async () => {
  const logged: unknown[] = []
  const warn = (_: string, details?: object) => void logged.push(details)
  lists = await open({ maxAgeSeconds: -1, log: { ...log, warn } })
  const ask = () => lists.reasonAgainst(claims).catch(() => undefined)
  answerWith([], { iat: iat + 3600, exp: iat + 7200 })
  await ask()
  answer = async () => ({ token: 'no list', etag: '' })
  await ask()
  expect(logged).toMatchObject([{ trouble: 'wrong_time' }, { trouble: 'refused' }])
})
