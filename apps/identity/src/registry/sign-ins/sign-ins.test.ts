/** Which refresh token of a sign-in is accepted, what it leads to, and what ends the sign-in. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { createLeaseSources } from './lease-sources.ts'
import { createRefreshTokens } from './refresh-tokens.ts'
import type { NewSignIn } from './sign-in-rows.ts'
import { newSid, type SignIns } from './sign-ins.ts'

const dayMs = 86_400_000
const graceMs = 10_000
const clock = createFakeClock()
const start = clock.now()
const sid = newSid()
const terminal: NewSignIn = {
  sid,
  clientId: 'c',
  accountId: 'a',
  personId: 'ada',
  email: 'ada@example.com',
  nodeId: 'node',
  origin: 'origin',
  scope: 'openid edge:mcm offline_access',
  audience: ['x', 'y'],
  jkt: 'key',
  authTime: 5,
  epoch: 4,
  described: 'Firefox',
}

let opened: GrantStore
let signIns: SignIns
beforeEach(async () => {
  clock.set(start)
  opened = await openGrantStore(clock)
  ;({ signIns } = opened)
  await opened.store.transaction([
    sql`INSERT INTO accounts (account_id, email, created_at) VALUES ('a', 'a@example.com', 0)`,
    sql`INSERT INTO people (person_id, email, password, created_at) VALUES ('ada', 'ada@example.com', '', 0)`,
    sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`,
  ])
})
afterEach(() => opened.close())

const begin = (change: Partial<NewSignIn> = {}) => signIns.begin({ ...terminal, ...change })
const leave = () => opened.store.run(sql`DELETE FROM members`)
const outcomeOf = async (token: string) => (await signIns.rotate(token)).outcome
async function successorOf(token: string): Promise<string> {
  const rotation = await signIns.rotate(token)
  return rotation.outcome === 'ok' ? rotation.refreshToken : rotation.outcome
}
/** Tokens that this service did not issue, or knows nothing of any more. */
const strangers: readonly [string, string][] = [
  ['of another service', createRefreshTokens(Buffer.alloc(32, 4)).make(sid, 0)],
  ['of a sign-in that was removed', createRefreshTokens(Buffer.alloc(32, 3)).make(newSid(), 0)],
  ['that is no token', 'x'],
]

describe('a sign-in', () => {
  it.each([false, true])('has all that was approved (of an app: %s)', async (isOfApp) => {
    expect(await signIns.find(await begin({ isOfApp }))).toStrictEqual({
      ...terminal,
      isOfApp,
      createdAt: start,
      expiresAt: start + dayMs,
      lastUsedAt: start,
    })
  })

  it('of no app is stored with openid', async () => {
    await begin()
    expect(await opened.store.run(sql`SELECT scope FROM sign_ins`)).toEqual([{ scope: terminal.scope }])
  })

  it('of an app is stored without openid, so that an older version issues no developer ID token for it', async () => {
    await begin({ isOfApp: true })
    expect(await opened.store.run(sql`SELECT scope FROM sign_ins`)).toEqual([
      { scope: 'edge:mcm offline_access' },
    ])
  })

  it('from before there were numbers of changes has no number', async () => {
    expect(await signIns.find(await begin({ epoch: undefined }))).toMatchObject({ epoch: undefined })
  })

  it('that begins a second time has the same first token', async () => {
    const first = await begin()
    expect(await begin()).toBe(first)
  })

  it('of no person begins without a membership', async () => {
    await leave()
    expect(await signIns.find(await begin({ personId: '' }))).toMatchObject({ personId: '' })
  })

  const revoked = { code: 'invalid_grant', message: expect.stringContaining('was revoked meanwhile') }
  it.each<[string, () => Promise<unknown>]>([
    ['its person has left the account', leave],
    ['it was revoked before', () => opened.revocations.revokeTree(sql`SELECT CAST(${sid} AS TEXT) AS id`)],
    ['what it came from was revoked', () => opened.revocations.revokeTree(sql`SELECT 'origin' AS id`)],
  ])('does not begin if %s', async (_, happen) => {
    await happen()
    await expect(begin()).rejects.toMatchObject(revoked)
    await expect(begin({ isOfApp: true })).rejects.toMatchObject(revoked)
    expect(await signIns.list('a')).toEqual([])
  })
})

describe('a refresh token', () => {
  it('leads to its successor, which leads to the next one', async () => {
    const first = await begin()
    const second = await successorOf(first)
    expect(await signIns.isCurrent(second)).toBe(true)
    clock.advance(graceMs + 1)
    expect(await successorOf(second)).toMatch(new RegExp(`^${sid}\\.2\\.`))
    expect(await signIns.find(second)).toMatchObject({ lastUsedAt: clock.now() })
  })

  it('that was just replaced leads to the same successor', async () => {
    const first = await begin()
    const second = await successorOf(first)
    clock.advance(graceMs)
    expect(await signIns.isCurrent(first)).toBe(true)
    expect(await successorOf(first)).toBe(second)
  })

  it('that was replaced earlier revokes the sign-in', async () => {
    const first = await begin()
    const second = await successorOf(first)
    clock.advance(graceMs + 1)
    expect(await signIns.isCurrent(first)).toBe(false)
    expect(await outcomeOf(first)).toBe('reused')
    expect(await outcomeOf(second)).toBe('revoked')
    expect(opened.revocations.reasonFor({ jti: sid, iat: 0 })).toBeDefined()
  })

  it('does not revoke the sign-in by being asked for', async () => {
    const first = await begin()
    const second = await successorOf(first)
    clock.advance(graceMs + 1)
    expect(await signIns.find(first)).toMatchObject({ sid })
    await signIns.isCurrent(first)
    expect(await outcomeOf(second)).toBe('ok')
  })

  it('has the times of sixteen rotations', async () => {
    const tokens = [await begin()]
    for (let step = 0; step < 17; step++) tokens.push(await successorOf(tokens.at(-1)!))
    expect(await signIns.isCurrent(tokens[1]!)).toBe(true)
    expect(await signIns.isCurrent(tokens[0]!)).toBe(false)
  })

  it('has these times also if the clock is wrong by decades', async () => {
    clock.set(Date.parse('2001-01-01T00:00:00Z'))
    const first = await begin()
    const second = await successorOf(first)
    const third = await successorOf(second)
    clock.advance(graceMs)
    expect(await successorOf(second)).toBe(third)
    clock.advance(1)
    expect(await outcomeOf(second)).toBe('reused')
  })

  it('of a person who has left the account is refused', async () => {
    const token = await begin()
    await leave()
    expect(await outcomeOf(token)).toBe('revoked')
  })

  it('ends with the sign-in', async () => {
    const token = await begin()
    clock.advance(dayMs - 1)
    expect(await signIns.isCurrent(token)).toBe(true)
    clock.advance(1)
    expect(await signIns.isCurrent(token)).toBe(false)
    expect(await outcomeOf(token)).toBe('ended')
    // What has expired needs no place in the list of revoked tokens.
    expect(opened.revocations.reasonFor({ jti: sid, iat: 0 })).toBeUndefined()
  })

  it.each(strangers)('%s is unknown', async (_, token) => {
    await begin()
    expect(await outcomeOf(token)).toBe('unknown')
    expect(await signIns.find(token)).toBeUndefined()
    expect(await signIns.isCurrent(token)).toBe(false)
  })
})

describe('a revocation', () => {
  it('happens once, and ends the sign-in', async () => {
    const token = await begin()
    expect(await signIns.revoke(sid)).toBe(true)
    expect(await signIns.revoke(sid)).toBe(false)
    expect(await signIns.isCurrent(token)).toBe(false)
    expect(await outcomeOf(token)).toBe('revoked')
  })

  it('of an unknown sign-in does nothing', async () => {
    expect(await signIns.revoke(newSid())).toBe(false)
  })
})

it('the list has the sign-ins of an account that are neither revoked nor expired, the newest first', async () => {
  await begin()
  clock.advance(1)
  const [second, revoked] = [newSid(), newSid()]
  await begin({ sid: second })
  await begin({ sid: revoked })
  await signIns.revoke(revoked)
  await begin({ sid: newSid(), accountId: 'b', personId: '' })
  const listed = async () => (await signIns.list('a')).map((each) => each.sid)
  expect(await listed()).toEqual([second, sid])
  clock.advance(dayMs - 1)
  expect(await listed()).toEqual([second])
})

describe('what a lease comes from', () => {
  const expiry = (id: string) => createLeaseSources(opened.store).expiresAt(id)

  it('is a sign-in, until it is revoked', async () => {
    await begin()
    expect(await expiry(sid)).toBe(start + dayMs)
    await signIns.revoke(sid)
    expect(await expiry(sid)).toBeUndefined()
  })

  it('is a developer ID token, until it is revoked', async () => {
    await opened.store.transaction([
      sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
        VALUES ('c', 'p', 'a', '', '', 1, 0)`,
      sql`INSERT INTO developer_tokens (jti, account_id, client_id, issued_at, expires_at) VALUES ('jti', 'a', 'c', 0, 9)`,
    ])
    expect(await expiry('jti')).toBe(9)
    await opened.store.run(sql`UPDATE developer_tokens SET revoked_at = 1`)
    expect(await expiry('jti')).toBeUndefined()
  })

  it('is nothing else', async () => expect(await expiry('x')).toBeUndefined())
})
