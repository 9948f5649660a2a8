/** The list of revoked tokens with every store: its content, the answers to runtimes that have an older state, and its limits. */
import type { RevocationsClaims } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { revocationEntry } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { type Changes, openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createSweep, type Sweep } from '../../storage/sweep/sweep.ts'
import { revocationExpiry } from './expiry.ts'
import { createFolding, type Folding } from './folding.ts'
import { type ListState, openRevocationList, type RevocationList } from './list.ts'
import { openRevocations, type Revocations } from './revocations.ts'

const bounds = { perAccount: 20, inAll: 100 }
const minute = 60_000

describe('in memory', () => describeList(async () => openMemoryStore(migrations), 1000))
describeOnStores(
  '%s',
  (makeDatabase) => describeList(async () => openSql(await makeDatabase(), migrations), 3000),
  migrations,
)

/**
 * @param openStore opens an empty store
 * @param many entries of a large list
 */
function describeList(openStore: () => Promise<SqlStore>, many: number): void {
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
  let log: ReturnType<typeof createMemoryLog>
  let list: RevocationList
  let signed: number
  /** What the monotonic clock shows, in milliseconds. */
  let passed = 0
  /** Duration of a signature. */
  let signingMs = 0
  const seconds = () => Math.floor(clock.now() / 1000)

  const openList = () =>
    openRevocationList({
      store,
      clock,
      monotonic: () => passed,
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
    store = await openStore()
    log = createMemoryLog()
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
    expect([whole.since, whole.restarted]).toEqual([undefined, undefined])
    expect(await ask(stateOf(whole))).toBe('unchanged')
    await revoke('t2')
    await revocations.revokeAll('node', 'n1', undefined)
    const change = await askWhole(stateOf(whole))
    expect(change).toMatchObject({ since: whole.seq, revoked: [entry('t2')], ended: [] })
    expect(Object.keys(change.not_before)).toEqual([revocationEntry('node', 'n1')])
    expect(change.seq).toBeGreaterThan(whole.seq)
    expect(await ask(stateOf(change))).toBe('unchanged')
  })

  it('reports which revocations expired, and removes them', async () => {
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

  it('lists the edge ID tokens of a node until the last of them expired, and not its access tokens', async () => {
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
    const from = seconds()
    for (let at = 0; at <= bounds.perAccount; at++) await revoke(`t${at}`)
    const whole = await askWhole()
    expect(whole.revoked).toEqual([entry('other')])
    const notBefore = whole.not_before[revocationEntry('account', 'a1')]!
    expect(notBefore).toBeGreaterThan(from)
    expect(notBefore).toBeLessThanOrEqual(seconds() + 1)
    // A runtime that had some of the tokens learns the account and the end of the single ones in one answer.
    const change = await askWhole(before)
    expect(change.not_before).toEqual(whole.not_before)
    expect(change.revoked).toEqual([])
    const until = (notBefore + 86_520) * 1000
    expect(
      await store.run(sql`SELECT expires_at, listed_until FROM revocations WHERE kind = 'folded'`),
    ).toEqual([{ expires_at: until, listed_until: until }])
    const noted = await store.run(sql`SELECT topic FROM changes WHERE subject = 'folded:a1'`)
    expect(noted).toEqual([{ topic: 'revocation' }])
    const [line] = log.lines.filter((each) => each.includes('now names the account'))
    expect(JSON.parse(line!)).toMatchObject({ accountId: 'a1' })
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
    // Each account that is listed as a whole saves nine entries, and twenty are too many.
    const whole = await askWhole()
    expect(Object.keys(whole.not_before)).toHaveLength(3)
    expect(whole.revoked).toHaveLength(90)
    expect(log.lines.join()).not.toContain('larger than its bound')
  })

  it('lists no more accounts as a whole than it must', async () => {
    for (const [account, tokens] of [10, 10, ...Array<number>(89).fill(1)].entries())
      for (let at = 0; at < tokens; at++) await revoke(`${account}/${at}`, `a${account}`)
    await sweep.run()
    // Nine too many, as many as one account saves.
    const full = await askWhole()
    expect([Object.keys(full.not_before).length, full.revoked.length]).toEqual([1, 99])
    await sweep.run()
    expect(await ask(stateOf(full))).toBe('unchanged')
    // One more: the other account is listed as a whole, too.
    await revoke('more', 'more')
    await sweep.run()
    const whole = await askWhole()
    expect([Object.keys(whole.not_before).length, whole.revoked.length]).toEqual([2, 90])
  })

  it('reports that it is larger than its bound, if no account has several entries', async () => {
    for (let at = 0; at < 99; at++) await revoke(`t${at}`, `a${at}`)
    await revoke('pair/0', 'pair')
    await revoke('pair/1', 'pair')
    await sweep.run()
    expect((await askWhole()).revoked).toHaveLength(99)
    expect(log.lines.join()).not.toContain('larger than its bound')
    await revoke('one more', 'another')
    await sweep.run()
    const [line] = log.lines.filter((each) => each.includes('larger than its bound'))
    expect(JSON.parse(line!)).toMatchObject({ level: 'error', entries: 101, bound: 100 })
  })

  it('a failure to check the bound is in the log, and the token is revoked', async () => {
    const { run } = store
    store.run = (async (statement: { sql: string }) => {
      if (statement.sql.includes('SUM(')) throw new Error('away')
      return run(statement as never)
    }) as never
    expect(await revoke('t1')).toBe(true)
    store.run = run
    const [line] = log.lines.filter((each) => each.includes('could not be checked'))
    expect(line).toContain('away')
    expect(JSON.parse(line!)).toMatchObject({ level: 'warn', accountId: 'a1' })
    expect(revocations.reasonFor({ jti: 'any', iat: seconds(), account_id: 'a1' })).toBeUndefined()
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
    for (let hours = 0; hours <= 48; hours++) {
      clock.advance(60 * minute)
      await sweep.run()
    }
    const answer = await askWhole(old)
    expect(answer).toMatchObject({ revoked: [entry('t1')] })
    expect(answer.since).toBeUndefined()
    expect(answer.restarted).toBeUndefined()
  })

  it('what expired leaves the list in batches, each a state of its own, and later the store', async () => {
    const steps = async () => Number((await store.run(sql`SELECT COUNT(*) AS n FROM revocation_steps`))[0]!.n)
    const insert = (at: number) =>
      sql`INSERT INTO revocations (kind, subject, not_before, expires_at, account_id, seq, is_listed, listed_until)
        VALUES ('id', ${`t${at}`}, 0, ${clock.now() + minute}, '', 0, 1, ${clock.now() + minute})`
    await store.transaction(Array.from({ length: 501 }, (_, at) => insert(at)))
    const before = await steps()
    clock.advance(minute)
    await sweep.run()
    expect(await steps()).toBe(before + 2)
    expect((await askWhole()).revoked).toEqual([])
    await sweep.run()
    expect(await steps()).toBe(before + 2)
    clock.advance(2 * 1440 * minute)
    await sweep.run()
    expect(await store.run(sql`SELECT subject FROM revocations`)).toEqual([])
  })

  it('a part of the sweep that fails is in the log with its name', async () => {
    const { run, transaction } = store
    const fail = () => Promise.reject(new Error('away'))
    Object.assign(store, { run: fail, transaction: fail })
    const forgetEnded = () => {
      throw new Error('away')
    }
    await createSweep(clock, log, revocationExpiry(store, { forgetEnded }, folding)).run()
    Object.assign(store, { run, transaction })
    const failed = log.lines.filter((line) => line.includes('could not be removed'))
    expect(failed.map((line) => JSON.parse(line).task)).toEqual([
      'revocations listed',
      'revocations bound',
      'revocations',
      'revocations in memory',
    ])
  })

  it('is signed for thirty days, with its state as its ETag', async () => {
    await revoke('t1')
    const answer = await list.answer(undefined)
    const { token, etag } = answer as Exclude<typeof answer, 'unchanged'>
    const { iat, exp, seq, mark } = JSON.parse(token) as RevocationsClaims
    expect(exp - iat).toBe(30 * 86_400)
    expect(etag).toBe(`"${seq}-${mark}"`)
  })

  it('is read from the store twice a second at most', async () => {
    await ask()
    await revoke('t1')
    passed += 499
    const state = stateOf(JSON.parse(((await list.answer(undefined)) as { token: string }).token))
    expect(await list.answer(state)).toBe('unchanged')
    passed += 1
    expect(await list.answer(state)).not.toBe('unchanged')
  })

  it('is signed again after five minutes without a change', async () => {
    await list.answer(undefined)
    passed += 299_999
    await list.answer(undefined)
    expect(signed).toBe(1)
    passed += 1
    await list.answer(undefined)
    expect(signed).toBe(2)
  })

  it('uses the monotonic clock of the process if it gets no other', async () => {
    await revoke('t1')
    const own = await openRevocationList({
      store,
      clock,
      issuer: () => '',
      keys: { sign: (_: string, claims: object) => JSON.stringify(claims) } as never,
    })
    const answer = (await own.answer(undefined)) as { token: string }
    expect(JSON.parse(answer.token).revoked).toEqual([entry('t1')])
  })

  it('a state with another mark is not known, although its number is', async () => {
    await revoke('t1')
    const state = stateOf(await askWhole())
    expect(await ask({ ...state, mark: 'another' })).toMatchObject({ restarted: true, seq: state.seq })
    await revoke('t2')
    expect(await ask({ ...state, mark: 'another' })).toMatchObject({ restarted: true })
    expect(await ask(state)).toMatchObject({ since: state.seq })
  })

  it('has up to 2000 changes in one answer, and the whole list for more', async () => {
    const before = stateOf(await askWhole())
    const addMany = async (count: number) => {
      await store.run(sql`DELETE FROM revocations`)
      const [counter] = await store.run(
        sql`SELECT value + 1 AS next FROM counters WHERE name = 'revocations'`,
      )
      const next = counter!.next!
      await store.transaction([
        sql`UPDATE counters SET value = ${next} WHERE name = 'revocations'`,
        sql`INSERT INTO revocation_steps VALUES (${next}, ${`mark ${count}`}, ${clock.now()})`,
        ...Array.from(
          { length: count },
          (_, at) =>
            sql`INSERT INTO revocations (kind, subject, not_before, expires_at, account_id, seq, is_listed, listed_until)
              VALUES ('id', ${`${at}`}, 0, ${clock.now() + minute}, '', ${next}, 1, ${clock.now() + minute})`,
        ),
      ])
      return askWhole(before)
    }
    const changed = await addMany(2000)
    expect([changed.since, changed.revoked.length]).toEqual([before.seq, 2000])
    const whole = await addMany(2001)
    expect([whole.since, whole.restarted, whole.revoked.length]).toEqual([undefined, undefined, 2001])
  })

  it('signs what changed since one of 64 states once for all runtimes', async () => {
    for (let at = 0; at < 66; at++) await revoke(`t${at}`, `a${at}`)
    const states = await store.run(sql`SELECT seq, mark FROM revocation_steps ORDER BY seq DESC LIMIT 66`)
    const older = states.slice(1) as unknown as ListState[]
    await ask(older[0])
    for (const state of older) await list.answer(state)
    expect(signed).toBe(65)
    for (const state of older) await list.answer(state)
    expect(signed).toBe(66)
  })

  it('a replica that has not read the newest state yet sends nothing to a runtime that has it', async () => {
    const behind = await openList()
    await ask(undefined, behind)
    await revoke('t1')
    // The other replica reads it, at the same time.
    const state = stateOf(JSON.parse(((await list.answer(undefined)) as { token: string }).token))
    expect(await behind.answer(state)).toBe('unchanged')
  })

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

  it(`a list of ${many} entries is not signed again for each change`, async () => {
    const statements = Array.from(
      { length: many },
      (_, at) =>
        sql`INSERT INTO revocations (kind, subject, not_before, expires_at, account_id, seq, is_listed, listed_until) VALUES ('id', ${`t${at}`}, 0, ${clock.now() + minute}, 'a1',
          (SELECT value FROM counters WHERE name = 'revocations'), 1, ${clock.now() + minute})`,
    )
    for (let at = 0; at < statements.length; at += 1000)
      await store.transaction(statements.slice(at, at + 1000))
    list = await openList()
    const whole = await askWhole()
    expect(whole.revoked).toHaveLength(many)
    const before = signed
    signingMs = 25
    for (let at = 0; at < 4; at++) {
      await revoke(`new${at}`, 'a2')
      passed += 510
      await list.answer(undefined)
    }
    expect(signed - before).toBeLessThanOrEqual(2)
    // A runtime that follows gets the few new ones.
    const change = await askWhole(stateOf(whole))
    expect(change.revoked).toHaveLength(4)
  })
}
