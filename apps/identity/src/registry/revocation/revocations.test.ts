/** Which tokens a revocation applies to, on SQLite; the list for runtimes has its own suite. */
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { type Changes, openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { openRevocations, type Revocations } from './revocations.ts'

const clock = createFakeClock()
const now = () => Math.floor(clock.now() / 1000)
const lifeSeconds = 3600
let store: SqlStore
let changes: Changes
let revocations: Revocations
beforeEach(async () => {
  store = openMemoryStore(migrations)
  changes = await openChanges({ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 1e12 })
  revocations = await openRevocations(store, clock, changes, lifeSeconds, noFolding)
})
afterEach(async () => {
  await changes.stop()
  await store.close()
})

const claims = (more: object = {}) => ({
  jti: 't',
  iat: now(),
  account_id: 'a1',
  client_id: 'c1',
  node_id: 'n1',
  epoch: changes.epoch(),
  ...more,
})
const isRevoked = (more: object = {}) => revocations.reasonFor(claims(more)) !== undefined

/** Rows as they are stored, and the changes that other replicas are notified of. */
const rows = () => store.run(sql`SELECT * FROM revocations`)
const notified = () => store.run(sql`SELECT topic, subject FROM changes`)
/** Seconds for which a runtime may accept an access token: a day, and two minutes for the differences of clocks. */
const maxAccessSeconds = 86_520

describe('revoking one token', () => {
  it('is stored until all replicas agree that it expired, and listed until the last access token did', async () => {
    const stored = async (endsAt: number, checkedUntil?: number) => {
      const times = { endsAt, accountId: 'a1', ...(checkedUntil !== undefined && { checkedUntil }) }
      await revocations.revokeId(`${endsAt} ${checkedUntil}`, times)
      const { expires_at, listed_until, not_before, account_id } = (await rows()).at(-1)!
      expect([not_before, account_id]).toEqual([now(), 'a1'])
      return [Number(expires_at) / 1000 - now(), Number(listed_until) && Number(listed_until) / 1000 - now()]
    }
    expect(await stored(now() + 100, now() + 50)).toEqual([160, 110])
    expect(await stored(now() + 50, now() + 100)).toEqual([160, 160])
    expect(await stored(now() + 100, 0)).toEqual([160, 0])
    expect(await stored(now() + 100)).toEqual([maxAccessSeconds + 60, maxAccessSeconds + 60])
  })

  it('applies to that token, and to tokens that came from it', async () => {
    expect(isRevoked()).toBe(false)
    expect(await revocations.revokeId('t', { endsAt: now() + 60, accountId: 'a1' })).toBe(true)
    expect(isRevoked()).toBe(true)
    expect(isRevoked({ jti: 'child', sid: 't' })).toBe(true)
    expect(isRevoked({ jti: 'other' })).toBe(false)
    expect([revocations.isRevoked('t'), revocations.isRevoked('other')]).toEqual([true, false])
  })

  it('a second time reports that it was revoked already', async () => {
    await revocations.revokeId('t', { endsAt: now() + 60, accountId: 'a1' })
    expect(await revocations.revokeId('t', { endsAt: now() + 60, accountId: 'a1' })).toBe(false)
  })

  it('is listed for runtimes only if they check the token', async () => {
    const listed = async (id: string) => {
      const [row] = await store.run(sql`SELECT is_listed FROM revocations WHERE subject = ${id}`)
      return row!.is_listed
    }
    await revocations.revokeId('unchecked', { endsAt: now() + 60, accountId: '', checkedUntil: 0 })
    await revocations.revokeId('checked', { endsAt: now() + 60, accountId: '', checkedUntil: now() + 60 })
    expect([await listed('unchecked'), await listed('checked')]).toEqual([0, 1])
  })
})

describe('revoking the edge ID tokens of a node', () => {
  it('applies to those issued until that second, and to no access token', async () => {
    const edge = (iat: number) => revocations.edgeReasonFor({ jti: 'e', iat, node_id: 'n1' })
    const what = { endsAt: now() + 60, accountId: 'a1' }
    expect(await revocations.revokeEdge('n1', now(), what)).toBe(true)
    expect([edge(now()), edge(now() + 1)]).toEqual(['it was revoked', undefined])
    expect(revocations.edgeReasonFor({ jti: 'e', iat: now(), node_id: 'n2' })).toBeUndefined()
    expect(isRevoked()).toBe(false)
    expect(await revocations.revokeEdge('n1', now(), what)).toBe(false)
    expect(await revocations.revokeEdge('n1', now() - 5, what)).toBe(false)
    expect(await revocations.revokeEdge('n1', now() + 1, what)).toBe(true)
  })

  it('one by its identifier applies to that one', async () => {
    await revocations.revokeId('e', { endsAt: now() + 60, accountId: '' })
    expect(revocations.edgeReasonFor({ jti: 'e', iat: now(), node_id: 'n1' })).toBe('it was revoked')
  })

  it('is stored under the node alone', async () => {
    await revocations.revokeEdge('n1', now(), { endsAt: now() + 60, accountId: 'a1' })
    expect(await rows()).toMatchObject([
      { kind: 'edge', subject: 'n1', account_id: '', not_before: now() + 1 },
    ])
  })

  it('lists no node without an account', async () => {
    await revocations.revokeEdge('stranger', now(), { endsAt: now() + 60, accountId: '' })
    expect(await store.run(sql`SELECT 1 AS one FROM revocations WHERE is_listed = 1`)).toEqual([])
  })
})

describe.each([
  ['account', 'a1', { account_id: 'a2' }],
  ['client', 'c1', { client_id: 'c2' }],
  ['node', 'n1', { node_id: 'n2' }],
] as const)('revoking all tokens of one %s', (kind, subject, other) => {
  it('applies to those that were issued before, and not to later or other ones', async () => {
    const before = changes.epoch()
    await revocations.revokeAll(kind, subject)
    expect(isRevoked({ epoch: before })).toBe(true)
    expect(isRevoked({ epoch: before, ...other })).toBe(false)
    expect(isRevoked({ epoch: changes.epoch() })).toBe(false)
  })

  it('applies by the time to tokens without a number: until the end of this second', async () => {
    await revocations.revokeAll(kind, subject)
    expect(isRevoked({ epoch: undefined, iat: now() })).toBe(true)
    expect(isRevoked({ epoch: undefined, iat: now() + 1 })).toBe(false)
  })

  it('is listed until the last access token expired, and stored until the last token did', async () => {
    await revocations.revokeAll(kind, subject)
    expect(await rows()).toEqual([
      {
        kind,
        subject,
        not_before: now() + 1,
        expires_at: (now() + 1 + lifeSeconds) * 1000,
        account_id: '',
        seq: 1,
        is_listed: 1,
        listed_until: (now() + 1 + maxAccessSeconds) * 1000,
        epoch: changes.epoch(),
      },
    ])
    expect(await notified()).toEqual([{ topic: 'revocation', subject: `${kind}:${subject}` }])
  })

  it('notifies other replicas of what else it changes', async () => {
    await revocations.revokeAll(kind, subject, { statements: [], noted: [['person', 'ada']] })
    expect(await notified()).toContainEqual({ topic: 'person', subject: 'ada' })
  })

  it('is one transaction with what else it changes', async () => {
    const statements = [sql`INSERT INTO settings VALUES ('x', 'y')`, sql`INSERT INTO nothing VALUES (1)`]
    await expect(revocations.revokeAll(kind, subject, { statements, noted: [] })).rejects.toThrow()
    expect(await store.run(sql`SELECT 1 AS one FROM settings`)).toEqual([])
    expect(isRevoked({ epoch: 0 })).toBe(false)
  })
})

it('checks the client that the caller names, if the claims do not contain it', async () => {
  await revocations.revokeAll('client', 'c1')
  const token = claims({ client_id: undefined, epoch: 0 })
  expect(revocations.reasonFor(token)).toBeUndefined()
  expect(revocations.reasonFor(token, 'c1')).toBeDefined()
})

it('is read again after a restart, and forgotten when everything that it applies to has expired', async () => {
  await revocations.revokeId('t', { endsAt: now() + 60, accountId: 'a1', checkedUntil: 0 })
  const again = await openRevocations(store, clock, changes, lifeSeconds, noFolding)
  expect(again.isRevoked('t')).toBe(true)
  const [row] = await store.run(sql`SELECT expires_at FROM revocations WHERE subject = 't'`)
  const end = row!.expires_at as number
  again.forgetEnded(end - 1)
  expect(again.isRevoked('t')).toBe(true)
  again.forgetEnded(end)
  expect(again.isRevoked('t')).toBe(false)
})

it('a single revocation is forgotten when all tokens of its account were revoked later', async () => {
  await revocations.revokeId('t', { endsAt: now() + 3000, accountId: 'a1' })
  clock.advance(59_000)
  await revocations.revokeAll('account', 'a1')
  revocations.forgetEnded(clock.now())
  // The clocks of two replicas may differ by a minute.
  expect(revocations.isRevoked('t')).toBe(true)
  clock.advance(1000)
  await revocations.revokeAll('account', 'a1')
  revocations.forgetEnded(clock.now())
  expect(revocations.isRevoked('t')).toBe(false)
  expect(isRevoked({ epoch: 0 })).toBe(true)
})

it('a single revocation is not forgotten for one of its account that came before, although the clock went back', async () => {
  await revocations.revokeAll('account', 'a1')
  clock.advance(-120_000)
  await revocations.revokeId('t', { endsAt: now() + 3000, accountId: 'a1' })
  revocations.forgetEnded(clock.now())
  expect(revocations.isRevoked('t')).toBe(true)
  clock.advance(120_000)
})

it('marks the developer ID tokens and sign-ins of an account or client as revoked, and the sign-ins of a node', async () => {
  await store.transaction([
    sql`INSERT INTO accounts VALUES ('a1', 'a@example.com', 0)`,
    ...['c1', 'c2'].map(
      (
        client,
      ) => sql`INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at)
        VALUES (${client}, 'p', 'a1', '', '[]', 1, 0)`,
    ),
  ])
  const marked = async (kind: 'account' | 'client' | 'node', subject: string) => {
    await store.transaction([
      sql`DELETE FROM developer_tokens`,
      sql`DELETE FROM sign_ins`,
      sql`INSERT INTO developer_tokens (jti, account_id, client_id, issued_at, expires_at) VALUES
        ('token of c1', 'a1', 'c1', 0, 0), ('token of c2', 'a1', 'c2', 0, 0)`,
      sql`INSERT INTO developer_tokens (jti, account_id, client_id, issued_at, expires_at, revoked_at)
        VALUES ('revoked before', 'a1', 'c1', 0, 0, 5)`,
      ...[
        ['a1', 'c1', 'n1'],
        ['a2', 'c2', 'n2'],
      ].map(
        ([account, client, node]) =>
          sql`INSERT INTO sign_ins (sid, client_id, account_id, person_id, email, node_id, origin, scope, audience, jkt,
              auth_time, created_at, expires_at, generation, rotations, last_used_at, described)
            VALUES (${`sign-in of ${node}`}, ${client!}, ${account!}, '', '', ${node!}, '', '', '', '', 0, 0, 0, 0, '', 0, '')`,
      ),
    ])
    await revocations.revokeAll(kind, subject)
    const found = await store.run(sql`SELECT jti AS id FROM developer_tokens WHERE revoked_at = ${clock.now()}
      UNION SELECT sid FROM sign_ins WHERE revoked_at = ${clock.now()} ORDER BY 1`)
    return found.map(({ id }) => id)
  }
  expect(await marked('account', 'a1')).toEqual(['sign-in of n1', 'token of c1', 'token of c2'])
  expect(await marked('client', 'c1')).toEqual(['sign-in of n1', 'token of c1'])
  expect(await marked('node', 'n1')).toEqual(['sign-in of n1'])
})

it('the bound of an account is checked after a revocation of a token of it, and of no other', async () => {
  const checked: string[] = []
  const check = async (accountId: string) => checked.push(accountId) > 1
  const bounded = await openRevocations(store, clock, changes, lifeSeconds, { ...noFolding, check })
  const end = { endsAt: now() + 60 }
  await bounded.revokeId('of no account', { ...end, accountId: '' })
  await bounded.revokeId('t1', { ...end, accountId: 'a1' })
  expect(bounded.reasonFor(claims({ jti: 'any', epoch: 0 }))).toBeUndefined()
  await bounded.revokeId('t2', { ...end, accountId: 'a1' })
  expect(checked).toEqual(['a1', 'a1'])
  expect(bounded.reasonFor(claims({ jti: 'any', epoch: 0 }))).toMatch(/account/)
  expect((await notified()).map(({ subject }) => subject)).toEqual([
    'id:of no account',
    'id:t1',
    'id:t2',
    'account:a1',
  ])
})
