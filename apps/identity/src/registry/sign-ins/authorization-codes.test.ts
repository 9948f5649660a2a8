/** A code belongs to what a person approved, for a minute, and once. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type GrantStore, openGrantStore } from '../../../../../tests/harness/grants.ts'
import { type AuthorizationCodes, createAuthorizationCodes } from './authorization-codes.ts'

const clock = createFakeClock()
const approved = {
  clientId: 'c',
  redirectUri: 'https://app.example/cb',
  challenge: 'x',
  jkt: 'key',
  scope: 'openid',
  audience: ['x', 'y'],
  nonce: 'n',
  nodeId: 'node',
  accountId: 'a',
  personId: 'ada',
  email: 'ada@example.com',
  authTime: 5,
  described: 'Firefox',
}

let opened: GrantStore
let codes: AuthorizationCodes
beforeEach(async () => {
  opened = await openGrantStore(clock)
  codes = createAuthorizationCodes(opened.store, clock, () => 4, opened.revocations)
  await opened.store.transaction([
    sql`INSERT INTO accounts (account_id, email, created_at) VALUES ('a', 'a@example.com', 0)`,
    ...['ada', 'bob'].flatMap((id) => [
      sql`INSERT INTO people (person_id, email, password, created_at) VALUES (${id}, ${id}, '', 0)`,
      sql`INSERT INTO members VALUES ('a', ${id}, 'owner', 0)`,
    ]),
  ])
})
afterEach(() => opened.close())

const create = (change: Partial<typeof approved> = {}) => codes.create({ ...approved, ...change }, () => [])
const leave = () => opened.store.run(sql`DELETE FROM members`)

it('has what the person approved', async () => {
  const code = await create()
  expect(code).toMatch(/^[\w-]{43}$/)
  const found = await codes.find(code)
  expect(found).toStrictEqual({ ...approved, sid: found!.sid, epoch: 4, isUsed: false })
  expect((await codes.find(await create()))!.sid).not.toBe(found!.sid)
})

it('is used once, and stays known so that its reuse is noticed', async () => {
  const code = await create()
  expect(await codes.use(code)).toBe(true)
  expect(await codes.use(code)).toBe(false)
  clock.advance(3_600_000)
  expect(await codes.find(code)).toMatchObject({ isUsed: true })
})

it('expires after a minute', async () => {
  const code = await create()
  clock.advance(59_999)
  expect(await codes.find(code)).toMatchObject({ isUsed: false })
  clock.advance(1)
  expect(await codes.find(code)).toBeUndefined()
  expect(await codes.use(code)).toBe(false)
})

it('cannot be used after its person has left the account', async () => {
  const code = await create()
  await leave()
  expect(await codes.use(code)).toBe(false)
  expect(await codes.find(code)).toMatchObject({ isUsed: false })
})

it('that is unknown is neither found nor used', async () => {
  await create()
  expect(await codes.find('x')).toBeUndefined()
  expect(await codes.use('x')).toBe(false)
})

it('is not issued for a person who is not in the account', async () => {
  await leave()
  await expect(create()).rejects.toMatchObject({ code: 'access_denied' })
})

it('is refused if fifty of the person wait, while those of others are issued', async () => {
  for (let made = 0; made < 50; made++) await create()
  await expect(create()).rejects.toMatchObject({ code: 'temporarily_unavailable', retryAfter: 60 })
  await create({ personId: 'bob' })
  clock.advance(60_000)
  await create()
})

it('is written together with the statements of its caller, or not at all', async () => {
  const noteIf = (isIssued: { sql: string; values: readonly unknown[] }) => [
    { sql: `INSERT INTO counters SELECT 'noted', 1 WHERE ${isIssued.sql}`, values: isIssued.values } as never,
  ]
  const noted = () => opened.store.run(sql`SELECT value FROM counters WHERE name = 'noted'`)
  await expect(codes.create({ ...approved, accountId: 'b' }, noteIf)).rejects.toThrow()
  expect(await noted()).toEqual([])
  await codes.create(approved, noteIf)
  expect(await noted()).toHaveLength(1)
})

it('revokes the tokens that came from it', async () => {
  const { sid } = (await codes.find(await create()))!
  await codes.revoke({ sid })
  expect(opened.revocations.reasonFor({ jti: sid, iat: 0 })).toBeDefined()
  expect(opened.revocations.reasonFor({ jti: 'other', iat: 0 })).toBeUndefined()
})
