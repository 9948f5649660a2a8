/** Developer ID tokens: for whom one is made, what it states, and when it is refused. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { createDeveloperTokens, type DeveloperTokens } from './developer-tokens.ts'

const clock = createFakeClock()
const start = clock.now()
const second = start / 1000
let opened: GrantStore
let tokens: DeveloperTokens

beforeEach(async () => {
  clock.set(start)
  opened = await openGrantStore(clock)
  const { store, revocations } = opened
  const keys = { sign: (typ: string, claims: object) => JSON.stringify({ typ, ...claims }) }
  tokens = createDeveloperTokens({
    ...{ store, clock, log: createMemoryLog(), keys: keys as never, revocations, maxTokens: 2 },
    ...{ issuer: () => 'https://identity.example', epoch: () => 7 },
  })
  await store.transaction([
    sql`INSERT INTO accounts VALUES ('a', 'a@example.com', 0)`,
    sql`INSERT INTO accounts VALUES ('b', 'b@example.com', 0)`,
    sql`INSERT INTO people VALUES ('ada', 'ada@example.com', '', 0)`,
    sql`INSERT INTO members VALUES ('a', 'ada', 'member', 0)`,
    ...['c', 'd'].map(
      (id) => sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
        VALUES (${id}, 'p', 'a', '', '', 1, 0)`,
    ),
  ])
})
afterEach(() => opened.close())

const ada = { accountId: 'a', personId: 'ada', email: 'ada@example.com', authTime: 5 }

it('a token names its account, person, project and time, and is listed without being stored', async () => {
  const { idToken, jti, expiresAt } = await tokens.issue(ada, 'c', 60)
  const claims = {
    ...{ iss: 'https://identity.example', sub: 'a', aud: 'c', iat: second, exp: second + 60, jti },
    ...{ account_id: 'a', email: 'ada@example.com', auth_time: 5, epoch: 7 },
  }
  expect(JSON.parse(idToken)).toEqual({ typ: 'JWT', ...claims })
  expect(expiresAt).toBe('2026-01-01T00:01:00.000Z')
  const listed = {
    ...{ jti, accountId: 'a', personId: 'ada', clientId: 'c', issuedAt: '2026-01-01T00:00:00.000Z' },
    ...{ expiresAt, lastUsedAt: null, revokedAt: null },
  }
  expect(await tokens.find(jti)).toEqual(listed)
  expect(await tokens.list('a')).toEqual([listed])
  expect(await tokens.find('other')).toBeUndefined()
})

it('a token that is part of a sign-in has its sid and scope, and is not listed', async () => {
  const grant = { lifetimeSeconds: 30, sid: 'sid', epoch: 3, scope: 'openid' }
  expect(JSON.parse(tokens.issueFor(ada, 'c', grant))).toMatchObject({
    ...{ typ: 'JWT', sub: 'a', aud: 'c', exp: second + 30, epoch: 3, sid: 'sid', scope: 'openid' },
  })
  expect(await tokens.list()).toEqual([])
})

it.each([
  ['a person who left the account', () => tokens.issue({ ...ada, personId: 'eve' }, 'c', 60)],
  ['a member of another account', () => tokens.issue({ ...ada, accountId: 'b' }, 'c', 60)],
  ['an unknown project', () => tokens.issue(ada, 'unknown', 60)],
  [
    'a project that is turned off',
    async () => {
      await opened.store.run(sql`UPDATE projects SET active = 0`)
      return tokens.issue(ada, 'c', 60)
    },
  ],
])('no token is made for %s', async (_, issue) => {
  await expect(issue()).rejects.toMatchObject({
    reason: 'conflict',
    message: 'you are no longer a member of the account, or the project is turned off',
  })
  expect(await tokens.list()).toEqual([])
})

it('the operator makes a token for an account without being a member', async () => {
  const { jti } = await tokens.issue({ ...ada, personId: '' }, 'c', 60)
  expect(await tokens.find(jti)).toMatchObject({ accountId: 'a', personId: '' })
})

it('an account has a limit of tokens that have not expired, in all its projects', async () => {
  await tokens.issue(ada, 'c', 60)
  await tokens.issue(ada, 'd', 120)
  const issue = () => tokens.issue(ada, 'c', 60)
  const refused = {
    reason: 'limit_exceeded',
    message: 'the account has 2 developer ID tokens already',
    hint: expect.stringContaining('limits.developerTokens'),
  }
  await expect(issue()).rejects.toMatchObject(refused)
  clock.advance(59_000)
  await expect(issue()).rejects.toMatchObject(refused)
  clock.advance(1000)
  await issue()
  await tokens.issue({ ...ada, accountId: 'b', personId: '' }, 'c', 60)
})

it('a person who left the account is not sent to the limit, which expired tokens do not count for', async () => {
  await tokens.issue(ada, 'c', 60)
  await tokens.issue(ada, 'd', 60)
  const stranger = { ...ada, personId: 'eve' }
  await expect(tokens.issue(stranger, 'c', 60)).rejects.toMatchObject({ reason: 'limit_exceeded' })
  clock.advance(60_000)
  await expect(tokens.issue(stranger, 'c', 60)).rejects.toMatchObject({ reason: 'conflict' })
})

it('lists are of one account with the newest first, or of all with the oldest first', async () => {
  const first = await tokens.issue(ada, 'c', 60)
  clock.advance(1000)
  const last = await tokens.issue(ada, 'd', 60)
  expect((await tokens.list('a')).map(({ jti }) => jti)).toEqual([last.jti, first.jti])
  expect((await tokens.list()).map(({ jti }) => jti)).toEqual([first.jti, last.jti])
  expect(await tokens.list('b')).toEqual([])
})

it('a token is revoked once, with its time, and an unknown one is named', async () => {
  const { jti } = await tokens.issue(ada, 'c', 60)
  clock.advance(2000)
  const revokedAt = '2026-01-01T00:00:02.000Z'
  expect(await tokens.revoke(jti)).toEqual({ jti, revokedAt, isNews: true })
  clock.advance(2000)
  expect(await tokens.revoke(jti)).toEqual({ jti, revokedAt, isNews: false })
  expect(opened.revocations.isRevoked(jti)).toBe(true)
  expect(await tokens.find(jti)).toMatchObject({ revokedAt })
  await expect(tokens.revoke('unknown')).rejects.toMatchObject({
    reason: 'not_found',
    message: 'there is no developer ID token with the jti unknown',
  })
})

it('the last use of a token is noted a moment later', async () => {
  const [one, other] = [await tokens.issue(ada, 'c', 60), await tokens.issue(ada, 'c', 60)]
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    clock.advance(3000)
    tokens.noteUse(one.jti)
    vi.runAllTimers()
  } finally {
    vi.useRealTimers()
  }
  await expect.poll(async () => (await tokens.find(one.jti))!.lastUsedAt).toBe('2026-01-01T00:00:03.000Z')
  expect((await tokens.find(other.jti))!.lastUsedAt).toBeNull()
})
