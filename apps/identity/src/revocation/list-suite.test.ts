/** The list of revoked tokens with every store: its content, the answers to runtimes that have an older state, and its limits. */
import type { RevocationsClaims } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { revocationEntry } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../tests/harness/databases.ts'
import { type Changes, openChanges } from '../changes/changes.ts'
import { migrations } from '../schema.ts'
import { createSweep, type Sweep } from '../sweep/sweep.ts'
import { revocationExpiry } from './expiry.ts'
import { createFolding, type Folding } from './folding.ts'
import { type ListState, openRevocationList, type RevocationList } from './list.ts'
import { openRevocations, type Revocations } from './revocations.ts'

const bounds = { perAccount: 20, inAll: 100 }
const minute = 60_000

describeOnStores('%s', (makeDatabase) => {
  const time = createFakeClock()
  /** Milliseconds by which the clock is wrong, for less than a day. */
  let wrongBy = 0
  const now = () => time.now() + wrongBy
  const clock = { ...time, now, past: () => Math.min(now(), time.steady()) }
  let store: SqlStore
  let changes: Changes
  let folding: Folding
  let revocations: Revocations
  let sweep: Sweep
  let list: RevocationList
  let signed: number
  const started = performance.now()
  let passed = 0
  /** How long a signature takes. */
  let signingMs = 0
  const seconds = () => Math.floor(clock.now() / 1000)

  const openList = () =>
    openRevocationList({
      store,
      clock,
      monotonic: () => passed + performance.now() - started,
      issuer: () => 'https://identity.example',
      keys: {
        sign: (_: string, claims: object) => {
          signed++
          passed += signingMs
          return JSON.stringify(claims)
        },
      } as never,
    })
  beforeEach(async () => {
    store = await openSql(await makeDatabase(), migrations)
    const log = createMemoryLog()
    changes = await openChanges({ store, clock, system: clock, log, maxAgeMs: 1e12 })
    folding = createFolding({ store, clock, changes, log, bounds })
    revocations = await openRevocations(store, clock, changes, 86_400, folding)
    sweep = createSweep(clock, log, revocationExpiry(store, revocations, folding))
    await sweep.run()
    list = await openList()
    signed = 0
    signingMs = 0
  })
  afterEach(async () => {
    await changes.stop()
    await store.close()
  })

  async function ask(since?: ListState, from = list): Promise<RevocationsClaims | 'unchanged'> {
    // The list is read from the store twice a second at most.
    passed += 510
    const answer = await from.answer(since)
    return answer === 'unchanged' ? answer : JSON.parse(answer.token)
  }
  const askWhole = async (since?: ListState) => (await ask(since)) as RevocationsClaims
  const stateOf = ({ seq, mark }: RevocationsClaims): ListState => ({ seq, mark: mark! })
  const revoke = (id: string, accountId = 'a1', checkedUntil = seconds() + 3600) =>
    revocations.revokeId(id, { endsAt: seconds() + 3600, accountId, checkedUntil })
  const entry = (id: string) => revocationEntry('id', id)

  it('answers a state with what changed since, and the newest state with nothing', async () => {
    await revoke('t1')
    const whole = await askWhole()
    expect(whole.revoked).toEqual([entry('t1')])
    expect(await ask(stateOf(whole))).toBe('unchanged')
    await revoke('t2')
    await revocations.revokeAll('node', 'n1', undefined)
    const change = await askWhole(stateOf(whole))
    expect(change).toMatchObject({ since: whole.seq, revoked: [entry('t2')], ended: [] })
    expect(Object.keys(change.not_before)).toEqual([revocationEntry('node', 'n1')])
    expect(change.seq).toBeGreaterThan(whole.seq)
    expect(await ask(stateOf(change))).toBe('unchanged')
  })

  it('reports which revocations ended, and removes them', async () => {
    await revoke('short', 'a1', seconds() + 60)
    await revoke('long')
    const whole = await askWhole()
    for (let minutes = 0; minutes < 4; minutes++) {
      clock.advance(minute)
      await sweep.run()
    }
    const change = await askWhole(stateOf(whole))
    expect(change).toMatchObject({ since: whole.seq, revoked: [], ended: [entry('short')] })
    expect((await askWhole()).revoked).toEqual([entry('long')])
  })

  it('does not list tokens that only this service checks, and such a revocation is no new state', async () => {
    const before = await askWhole()
    await revoke('personal', 'a1', 0)
    expect(await ask(stateOf(before))).toBe('unchanged')
    expect(revocations.reasonFor({ jti: 'personal', iat: seconds() })).toBe('it was revoked')
  })

  it('does not list the edge ID tokens of a node without an account', async () => {
    const before = await askWhole()
    await revocations.revokeEdge('stranger', seconds(), { endsAt: seconds() + 600, accountId: '' })
    expect(await ask(stateOf(before))).toBe('unchanged')
    expect(revocations.edgeReasonFor({ jti: 'e', iat: seconds(), node_id: 'stranger' })).toBe(
      'it was revoked',
    )
  })

  it('lists the edge ID tokens of a node until the last of them expired, and none of its access tokens', async () => {
    const before = await askWhole()
    await revocations.revokeEdge('n1', seconds(), { endsAt: seconds() + 600, accountId: 'a1' })
    const listed = { [revocationEntry('edge', 'n1')]: seconds() + 1 }
    expect(await askWhole(stateOf(before))).toMatchObject({ revoked: [], not_before: listed })
    expect(revocations.reasonFor({ jti: 'a', iat: seconds(), client_id: 'c', node_id: 'n1' })).toBeUndefined()
    const claims = { jti: 'e', iat: seconds(), node_id: 'n1' }
    expect(revocations.edgeReasonFor(claims)).toBe('it was revoked')
    expect(revocations.edgeReasonFor({ ...claims, iat: seconds() + 1 })).toBeUndefined()
    for (let minutes = 0; minutes < 13; minutes++) {
      clock.advance(minute)
      await sweep.run()
    }
    expect((await askWhole()).not_before).toEqual({})
  })

  it('revoking something again writes nothing', async () => {
    const rows = async () => (await store.run(sql`SELECT COUNT(*) AS n FROM changes`))[0]!.n
    expect(await revoke('t1')).toBe(true)
    expect(await revocations.revokeEdge('n1', seconds(), { endsAt: seconds() + 600, accountId: 'a1' })).toBe(
      true,
    )
    const before = await rows()
    const state = stateOf(await askWhole())
    expect(await revoke('t1')).toBe(false)
    expect(
      await revocations.revokeEdge('n1', seconds() - 5, { endsAt: seconds() + 600, accountId: 'a1' }),
    ).toBe(false)
    expect(await rows()).toBe(before)
    expect(await ask(state)).toBe('unchanged')
  })

  it('lists an account that revokes many tokens as a whole; other accounts and new tokens are not affected', async () => {
    await revoke('other', 'a2')
    const before = stateOf(await askWhole())
    for (let at = 0; at <= bounds.perAccount; at++) await revoke(`t${at}`)
    const whole = await askWhole()
    expect(whole.revoked).toEqual([entry('other')])
    const notBefore = whole.not_before[revocationEntry('account', 'a1')]!
    expect(notBefore).toBeGreaterThan(seconds())
    expect(notBefore).toBeLessThanOrEqual(seconds() + 1)
    // A runtime that had some of the tokens learns the account and the end of the single ones in one answer.
    const change = await askWhole(before)
    expect(change.not_before).toEqual(whole.not_before)
    expect(change.revoked).toEqual([])
    // The service itself still knows each one, and only these.
    expect(revocations.reasonFor({ jti: 't0', iat: seconds() })).toBe('it was revoked')
    expect(revocations.reasonFor({ jti: 'valid', iat: seconds(), account_id: 'a1' })).toBeUndefined()
  })

  it('revokes all tokens of an account that continues to revoke single ones without end', async () => {
    for (let at = 0; at <= 20 * bounds.perAccount; at++) await revoke(`t${at}`)
    expect(revocations.reasonFor({ jti: 'any', iat: seconds(), account_id: 'a1' })).toMatch(/account/)
    const [row] = await store.run(
      sql`SELECT COUNT(*) AS n FROM revocations WHERE kind = 'id' AND expires_at > 0`,
    )
    expect(Number(row!.n)).toBe(0)
  })

  it('stays within its bound for all accounts together', async () => {
    for (let account = 0; account < 12; account++)
      for (let at = 0; at < 10; at++) await revoke(`${account}/${at}`, `a${account}`)
    expect((await askWhole()).revoked).toHaveLength(120)
    await sweep.run()
    const whole = await askWhole()
    const folded = Object.keys(whole.not_before).length
    expect(folded).toBeGreaterThan(0)
    expect(whole.revoked.length + folded).toBeLessThanOrEqual(bounds.inAll)
    expect(whole.revoked).toHaveLength((12 - folded) * 10)
  })

  it('a clock that is two days ahead for an hour ends nothing before its time', async () => {
    await revoke('t1', 'a1', seconds() + 86_400)
    wrongBy = 2 * 86_400_000
    for (let minutes = 0; minutes < 60; minutes++) {
      clock.advance(minute)
      await sweep.run()
    }
    const during = await openRevocations(store, clock, changes, 86_400, folding)
    expect(during.reasonFor({ jti: 't1', iat: seconds() })).toBe('it was revoked')
    wrongBy = 0
    await sweep.run()
    expect((await askWhole()).revoked).toEqual([entry('t1')])
    expect(revocations.reasonFor({ jti: 't1', iat: seconds() })).toBe('it was revoked')
    const later = await openRevocations(store, clock, changes, 86_400, folding)
    expect(later.reasonFor({ jti: 't1', iat: seconds() })).toBe('it was revoked')
  })

  it('numbers do not depend on the clock', async () => {
    await revoke('t1')
    const before = await askWhole()
    clock.advance(-10 * 365 * 86_400_000)
    await revoke('t2')
    const after = await askWhole()
    clock.advance(10 * 365 * 86_400_000)
    expect(after.seq).toBeGreaterThan(before.seq)
    expect(after.iat).toBeLessThan(before.iat)
  })

  it('a runtime with a state from before a restored backup gets the whole list, marked as restarted', async () => {
    await revoke('t1')
    const backup = stateOf(await askWhole())
    await revoke('lost')
    const lost = stateOf(await askWhole())
    // What a backup brings back: rows and counter as they were.
    await store.run(sql`DELETE FROM revocations WHERE seq > ${backup.seq}`)
    await store.run(sql`DELETE FROM revocation_steps WHERE seq > ${backup.seq}`)
    await store.run(sql`UPDATE counters SET value = ${backup.seq} WHERE name = 'revocations'`)
    list = await openList()
    expect(await ask(backup)).toBe('unchanged')
    expect(await ask(lost)).toMatchObject({ restarted: true, seq: backup.seq, revoked: [entry('t1')] })
    // The numbers come again, with other names.
    await revoke('t2')
    await revoke('t3')
    expect(await ask(lost)).toMatchObject({
      restarted: true,
      revoked: [entry('t1'), entry('t2'), entry('t3')],
    })
    expect(await ask(backup)).toMatchObject({ since: backup.seq, revoked: [entry('t2'), entry('t3')] })
  })

  it('a store that is restored while the service runs is read again', async () => {
    await revoke('t1')
    const backup = stateOf(await askWhole())
    await revoke('lost')
    await askWhole()
    await store.transaction([
      sql`DELETE FROM revocations WHERE seq > ${backup.seq}`,
      sql`DELETE FROM revocation_steps WHERE seq > ${backup.seq}`,
      sql`UPDATE counters SET value = ${backup.seq} WHERE name = 'revocations'`,
    ])
    await revoke('t2')
    expect((await askWhole()).revoked.toSorted()).toEqual([entry('t1'), entry('t2')].toSorted())
  })

  it('a runtime that is too far behind gets the whole list, not marked as restarted', async () => {
    const old = stateOf(await askWhole())
    await revoke('t1', 'a1', seconds() + 10 * 86_400)
    for (let minutes = 0; minutes < 2 * 1440 + 10; minutes += 2) {
      clock.advance(2 * minute)
      await sweep.run()
    }
    const answer = await askWhole(old)
    expect(answer).toMatchObject({ revoked: [entry('t1')] })
    expect(answer.since).toBeUndefined()
    expect(answer.restarted).toBeUndefined()
  }, 60_000)

  it('two replicas sign the same states', async () => {
    const other = await openList()
    await revoke('t1')
    const state = stateOf(await askWhole())
    expect(await ask(state, other)).toBe('unchanged')
  })

  it('a failure of the store is not cached', async () => {
    const state = stateOf(await askWhole())
    await revoke('t1')
    const { run } = store
    store.run = (async (statement: { sql: string }) => {
      if (statement.sql.includes('LIMIT')) throw new Error('away')
      return run(statement as never)
    }) as never
    await expect(ask(state)).rejects.toThrow('away')
    store.run = run
    expect(await ask(state)).toMatchObject({ revoked: [entry('t1')] })
  })

  it('a hundred thousand entries are not signed again for each change', async () => {
    const statements = Array.from(
      { length: 100_000 },
      (_, at) =>
        sql`INSERT INTO revocations (kind, subject, not_before, expires_at, account_id, seq, is_listed, listed_until) VALUES ('id', ${`t${at}`}, 0, ${clock.now() + minute}, 'a1',
          (SELECT value FROM counters WHERE name = 'revocations'), 1, ${clock.now() + minute})`,
    )
    for (let at = 0; at < statements.length; at += 1000)
      await store.transaction(statements.slice(at, at + 1000))
    list = await openList()
    const whole = await askWhole()
    expect(whole.revoked).toHaveLength(100_000)
    const before = signed
    signingMs = 25
    const begun = process.cpuUsage()
    for (let at = 0; at < 4; at++) {
      await revoke(`new${at}`, 'a2')
      passed += 510
      await list.answer(undefined)
    }
    const { user, system } = process.cpuUsage(begun)
    console.info(
      `4 changes of a list of 100,000: ${Math.round((user + system) / 1000)} ms of CPU, ${signed - before} signed`,
    )
    expect(signed - before).toBeLessThanOrEqual(2)
    // A runtime that follows gets the few new ones.
    const change = await askWhole(stateOf(whole))
    expect(change.revoked).toHaveLength(4)
  }, 60_000)
})
