/** How long leases live, on every store: so long revocations are listed, keys are published, and what leases came from is known. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { type Changes, openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { removeExpiredRows } from '../expired-rows.ts'
import { openSigningKeys } from '../keys/signing-keys.ts'
import { createFolding } from '../revocation/folding.ts'
import { openRevocations, type Revocations } from '../revocation/revocations.ts'
import { createLeaseSources } from '../sign-ins/lease-sources.ts'
import { followLeases, noLeases, type Offline, offlineExpiry } from './offline.ts'
import { createProjects, type Projects } from './projects.ts'

describe('in memory', () => describeLeases(async () => openMemoryStore(migrations)))
describeOnStores(
  '%s',
  (makeDatabase) => describeLeases(async () => openSql(await makeDatabase(), migrations)),
  migrations,
)

const day = 86_400_000
/** Longest life of an access token, and the differences of clocks. */
const access = day + 180_000

function describeLeases(openStore: () => Promise<SqlStore>): void {
  const clock = createFakeClock()
  const start = clock.now()
  let store: SqlStore
  let changes: Changes
  let revocations: Revocations
  let projects: Projects
  let clientId: string
  beforeEach(async () => {
    clock.set(start)
    store = await openStore()
    const log = createMemoryLog()
    changes = await openChanges({ store, clock, system: clock, log, maxAgeMs: 1e12 })
    const folding = createFolding({ store, clock, changes, log, bounds: { perAccount: 3, inAll: 100 } })
    revocations = await openRevocations(store, clock, changes, 366 * 86_400, folding)
    projects = createProjects({
      store,
      clock,
      changes,
      revocations,
      keys: { prepare: async () => undefined },
      maxProjects: 10,
    })
    await store.run(sql`INSERT INTO accounts VALUES ('a', 'a@example.com', 0)`)
    clientId = (await projects.create({ name: 'p', accountId: 'a', scopes: ['edge:mcm'], resources: [] }))
      .clientId
  })
  afterEach(async () => {
    await changes.stop()
    await store.close()
  })

  const month: Offline = { maxDays: 30, scopes: ['openid', 'edge:mcm'] }
  const set = (offline: Offline) => projects.update(clientId, { offline })
  /** Milliseconds from now until an entry leaves the list; undefined: it is not listed. */
  async function listedFor(kind: string, subject: string): Promise<number | undefined> {
    const [row] = await store.run(
      sql`SELECT listed_until FROM revocations WHERE kind = ${kind} AND subject = ${subject} AND is_listed = 1`,
    )
    return row && Number(row.listed_until) - clock.now()
  }
  const within = (low: number, high: number) => (found: number | undefined) =>
    found !== undefined && found >= low && found <= high
  const addToken = (jti: string, lifeMs: number) =>
    store.run(sql`INSERT INTO developer_tokens (jti, account_id, client_id, issued_at, expires_at)
      VALUES (${jti}, 'a', ${clientId}, ${start}, ${clock.now() + lifeMs})`)
  const addSignIn = (sid: string, origin: string, lifeMs: number) =>
    store.run(sql`INSERT INTO sign_ins (sid, client_id, account_id, person_id, email, node_id, origin, scope, audience, jkt,
        auth_time, created_at, expires_at, generation, rotations, last_used_at, described)
      VALUES (${sid}, ${clientId}, 'a', '', '', 'n', ${origin}, '', '""', '', 0, 0, ${clock.now() + lifeMs}, 0, '', 0, '')`)
  const revoke = (jti: string) => revocations.revokeTree(sql`SELECT CAST(${jti} AS TEXT) AS id`)

  it('a project has no leases, then what was set, in every way that it is read', async () => {
    expect((await projects.find(clientId))!.offline).toEqual(noLeases)
    expect((await set(month)).offline).toEqual(month)
    expect((await projects.find(clientId))!.offline).toEqual(month)
    expect((await projects.list('a'))[0]!.offline).toEqual(month)
    expect((await projects.list())[0]!.offline).toEqual(month)
    expect((await projects.update(clientId, { name: 'other' })).offline).toEqual(month)
    expect((await set({ maxDays: 30, scopes: [] })).offline).toEqual(noLeases)
    const created = { name: 'q', accountId: 'a', scopes: [], resources: [], offline: month }
    expect((await projects.create(created)).offline).toEqual(month)
  })

  it.each(['account', 'node', 'client'] as const)(
    'all tokens of a %s are listed as revoked until the last lease expires',
    async (kind) => {
      await revocations.revokeAll(kind, 'x')
      expect(await listedFor(kind, 'x')).toBeLessThanOrEqual(access)
      await set(month)
      await revocations.revokeAll(kind, 'x')
      expect(await listedFor(kind, 'x')).toSatisfy(within(30 * day, 30 * day + access))
    },
  )

  it('a token or sign-in is listed until its leases expire, which is no later than itself', async () => {
    await set(month)
    await addToken('long', 90 * day)
    await addToken('short', 5 * day)
    await addSignIn('child', 'long', 10 * day)
    await revoke('long')
    await revoke('short')
    expect(await listedFor('id', 'long')).toSatisfy(within(30 * day, 30 * day + access))
    expect(await listedFor('id', 'child')).toSatisfy(within(10 * day, 10 * day + access))
    expect(await listedFor('id', 'short')).toSatisfy(within(5 * day, 5 * day + access))
  })

  it('a token of a project without leases is listed for as long as access tokens live', async () => {
    await addToken('token', 90 * day)
    await revoke('token')
    expect(await listedFor('id', 'token')).toBeLessThanOrEqual(access)
  })

  it('leases of earlier settings count until they expire', async () => {
    await set(month)
    await set({ ...month, maxDays: 1 })
    clock.advance(10 * day)
    await revocations.revokeAll('account', 'x')
    expect(await listedFor('account', 'x')).toSatisfy(within(20 * day, 20 * day + access))
    clock.advance(25 * day)
    await revocations.revokeAll('account', 'y')
    expect(await listedFor('account', 'y')).toSatisfy(within(day, day + access))
  })

  it.each<[what: string, change: () => Promise<unknown>, isRevoked: boolean]>([
    ['fewer days', () => set({ ...month, maxDays: 29 }), true],
    ['fewer scopes', () => set({ ...month, scopes: ['openid'] }), true],
    ['no leases', () => set(noLeases), true],
    ['turned off', () => projects.update(clientId, { active: false }), true],
    ['no keys any more', () => projects.update(clientId, { dpop: 'off' }), true],
    ['more days', () => set({ ...month, maxDays: 31 }), false],
    ['another name', () => projects.update(clientId, { name: 'q' }), false],
  ])('a project with %s: whether its leases are revoked', async (_, change, isRevoked) => {
    await set(month)
    const lease = {
      jti: 'l',
      iat: Math.floor(start / 1000),
      epoch: changes.epoch(),
      client_id: clientId,
      isLease: true,
    } as const
    await change()
    expect(revocations.reasonFor(lease) !== undefined).toBe(isRevoked)
    const { isLease: _is, ...token } = lease
    expect(revocations.reasonFor(token)).toBeUndefined()
    expect(within(29 * day, 31 * day + access)(await listedFor('lease', clientId))).toBe(isRevoked)
    expect(revocations.reasonFor({ ...lease, epoch: changes.epoch() })).toBeUndefined()
  })

  it('a removed project ends its leases until the last of them expires, and then leaves no row', async () => {
    await set(month)
    await projects.remove(clientId)
    expect(await listedFor('client', clientId)).toSatisfy(within(30 * day, 30 * day + access))
    const { run } = offlineExpiry(store)
    await run(clock.now() + 30 * day)
    expect(await store.run(sql`SELECT 1 FROM project_offline`)).toHaveLength(1)
    await run(clock.now() + 32 * day)
    expect(await store.run(sql`SELECT 1 FROM project_offline`)).toHaveLength(0)
  })

  it('a project with leases stays in the table', async () => {
    await set(month)
    await offlineExpiry(store).run(clock.now() + 400 * day)
    expect((await projects.list())[0]!.offline).toEqual(month)
  })

  it('an account that is listed as a whole is listed until its leases expire', async () => {
    await set(month)
    for (const jti of ['t1', 't2', 't3', 't4']) {
      await addToken(jti, 90 * day)
      await revoke(jti)
    }
    expect(await listedFor('id', 't1')).toBeUndefined()
    expect(await listedFor('folded', 'a')).toSatisfy(within(30 * day, 30 * day + access))
  })

  it('a signing key is published until the last lease that it signed expires', async () => {
    const keys = await openSigningKeys({
      ...{ store, clock, changes, seal: createSeal([Buffer.alloc(32, 9)]) },
      maxLifeSeconds: 366 * 86_400,
      publishedSeconds: 2 * 86_400,
      leasesSeconds: await followLeases(store, clock, changes),
      rotateAfter: 0,
    })
    const published = () => (JSON.parse(keys.jwks).keys as { kid: string }[]).map(({ kid }) => kid)
    await set(month)
    const { kid } = keys.list().find(({ state }) => state === 'active')!
    await keys.rotate()
    clock.advance(29 * day)
    expect(published()).toContain(kid)
    clock.advance(2 * day)
    expect(published()).not.toContain(kid)
  })

  it('what a sign-in came from is known as long as the sign-in, so that removing a person finds it', async () => {
    await addToken('root', day)
    await addSignIn('leaf', 'root', 90 * day)
    const sweep = async () => {
      for (const { run } of removeExpiredRows(store)) await run(clock.now())
    }
    clock.advance(80 * day)
    await sweep()
    // As the removal of a person finds it.
    const roots = sql`SELECT jti AS id FROM developer_tokens WHERE account_id = 'a'`
    expect((await revocations.revokeTree(roots)).isNews).toBe(true)
    expect(await listedFor('id', 'leaf')).toBeGreaterThan(0)
    clock.advance(45 * day)
    await sweep()
    await sweep()
    expect(
      await store.run(sql`SELECT 1 FROM developer_tokens UNION ALL SELECT 1 FROM sign_ins`),
    ).toHaveLength(0)
  })

  it('a lease comes from a token or sign-in that is not revoked, and ends with it', async () => {
    const sources = createLeaseSources(store)
    await addToken('token', 5 * day)
    await addSignIn('sign-in', '', 7 * day)
    expect(await sources.expiresAt('token')).toBe(clock.now() + 5 * day)
    expect(await sources.expiresAt('sign-in')).toBe(clock.now() + 7 * day)
    await revoke('token')
    expect(await sources.expiresAt('token')).toBeUndefined()
    expect(await sources.expiresAt('unknown')).toBeUndefined()
  })
}
