/** What decides about trust is never older than it may be, and refuses otherwise; on a store that fails and is slow on purpose. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openSigningKeys } from '../../registry/keys/signing-keys.ts'
import { createNodes } from '../../registry/nodes/nodes.ts'
import { createAccounts } from '../../registry/people/accounts.ts'
import { createTrustedIssuers } from '../../registry/projects/issuers.ts'
import { followLeases } from '../../registry/projects/offline.ts'
import { createKnownOrigins } from '../../registry/projects/project-apps.ts'
import { createProjects } from '../../registry/projects/projects.ts'
import { openRevocations } from '../../registry/revocation/revocations.ts'
import { migrations } from '../schema.ts'
import { createSeal } from '../secrets/seal.ts'
import { openChanges } from './changes.ts'
import { topics } from './trust-cache.ts'

const clock = createFakeClock()
const nodeId = 'a'.repeat(56)
const revoked = { endsAt: 4_000_000_000, checkedUntil: 4_000_000_000, accountId: '' }
let store: SqlStore
let stops: (() => Promise<void>)[]

beforeEach(async () => {
  store = openMemoryStore(migrations)
  stops = []
})
afterEach(async () => {
  for (const stop of stops) await stop()
  await store.close()
})

/** A process with all of its caches. Its store can be made to fail, and its reads to wait. */
async function startProcess({ isShared = false, sealKeys = [9] } = {}) {
  let fails = (_: Statement): boolean => false
  let holds = { when: (_: Statement): boolean => false, until: Promise.resolve() }
  let monotonic = 0
  const own: SqlStore = {
    ...store,
    isShared,
    async run(statement) {
      if (fails(statement)) throw new Error('disk I/O error')
      const rows = await store.run(statement)
      if (holds.when(statement)) await holds.until
      return rows as never
    },
  }
  const changes = await openChanges({
    store: own,
    clock,
    system: clock,
    log: createMemoryLog(),
    maxAgeMs: 5000,
    monotonic: () => monotonic,
  })
  stops.push(changes.stop)
  const seal = createSeal(sealKeys.map((each) => Buffer.alloc(32, each)))
  const revocations = await openRevocations(own, clock, changes, 3600, noFolding)
  const keys = await openSigningKeys({
    store: own,
    clock,
    changes,
    seal,
    maxLifeSeconds: 3600,
    publishedSeconds: 3600,
    rotateAfter: 0,
  })
  const nodes = createNodes({ store: own, clock, changes, seal, revocations, maxNodes: 10 })
  const projects = createProjects({ store: own, clock, changes, revocations, keys, maxProjects: 10 })
  const leasesSeconds = await followLeases(own, clock, changes)
  return {
    leasesSeconds,
    changes,
    revocations,
    keys,
    nodes,
    projects,
    isKnownOrigin: createKnownOrigins(own, changes),
    trustedIssuers: createTrustedIssuers({
      store: own,
      clock,
      changes,
      revocations,
      issuer: () => '',
      maxIssuers: 10,
    }),
    failIf(when: (statement: Statement) => boolean) {
      fails = when
    },
    /** @returns lets them go on */
    holdAnswers(when: (statement: Statement) => boolean) {
      const held = Promise.withResolvers<void>()
      holds = { when, until: held.promise }
      return held.resolve
    },
    pass(milliseconds: number) {
      monotonic += milliseconds
    },
  }
}
type Process = Awaited<ReturnType<typeof startProcess>>

const claims = (jti: string) => ({ jti, iat: 0 })
const codeOf = async (decide: () => unknown): Promise<string> => {
  try {
    await decide()
    return 'decided'
  } catch (cause) {
    return `${(cause as { status?: number }).status}`
  }
}
/** One decision from each cache. */
const decisions: Record<(typeof topics)[number], (of: Process) => unknown> = {
  keys: ({ keys }) => keys.sign('at+jwt', {}),
  revocation: ({ revocations }) => revocations.reasonFor(claims('x')),
  project: ({ projects }) => projects.find('p'),
  origin: ({ isKnownOrigin }) => isKnownOrigin('https://app.example'),
  issuer: ({ trustedIssuers }) => trustedIssuers.of('p'),
  node: ({ nodes }) => nodes.find(nodeId),
  lease: ({ leasesSeconds }) => leasesSeconds(),
}

it.each(topics)(
  'a decision by "%s" is refused while the process cannot see changes, and made again after',
  async (topic) => {
    const process = await startProcess({ isShared: true })
    const decide = () => decisions[topic](process)
    expect(await codeOf(decide)).toBe('decided')
    process.failIf(() => true)
    process.pass(5001)
    expect(await codeOf(decide)).toBe('503')
    expect(await codeOf(process.changes.ensureFresh)).toBe('503')
    process.failIf(() => false)
    process.pass(1001)
    await process.changes.ensureFresh()
    expect(await codeOf(decide)).toBe('decided')
  },
)

it('a process that slept decides nothing before it has read, although its monotonic clock stood still', async () => {
  const process = await startProcess({ isShared: true })
  clock.advance(3_600_000)
  expect(await codeOf(() => decisions.revocation(process))).toBe('503')
})

it('a revocation that was acknowledged while it could not be read is never decided against', async () => {
  const process = await startProcess()
  process.failIf(({ sql: text }) => text.includes('LEFT JOIN changes'))
  await process.revocations.revokeId('t1', revoked)
  expect(await codeOf(() => process.revocations.reasonFor(claims('t1')))).toBe('503')
  process.failIf(() => false)
  process.pass(1001)
  await process.changes.ensureFresh()
  expect(process.revocations.reasonFor(claims('t1'))).toBe('it was revoked')
})

it('a revocation is read again after its row could not be read', async () => {
  const process = await startProcess()
  process.failIf(({ sql: text }) => text.includes('FROM revocations'))
  await process.revocations.revokeId('t1', revoked)
  expect(await codeOf(() => process.revocations.reasonFor(claims('t1')))).toBe('503')
  process.failIf(() => false)
  await process.revocations.revokeId('t2', revoked)
  expect(process.revocations.reasonFor(claims('t1'))).toBe('it was revoked')
})

it('a key that cannot be decrypted stops signing, and nothing else; it is tried again', async () => {
  const process = await startProcess()
  const [known] = process.keys.list()
  const other = await startProcess({ sealKeys: [8, 9] })
  await other.keys.rotate()
  await process.revocations.revokeId('t1', revoked)
  expect(process.revocations.reasonFor(claims('t1'))).toBe('it was revoked')
  expect(await codeOf(() => process.keys.sign('at+jwt', {}))).toBe('503')
  expect(await codeOf(() => process.keys.jwks)).toBe('503')
  expect(await codeOf(process.changes.checkFresh)).toBe('503')
  // A token of a key that this process does not know is not "unknown": that cannot be decided yet.
  const unknown = other.keys.list().find(({ state }) => state === 'next')!.kid
  expect(process.keys.asIssuer('x').findKey(known!.kid)).toBeDefined()
  expect(await codeOf(() => process.keys.asIssuer('x').findKey(unknown))).toBe('503')
})

it('a gap in the numbers of the changes reads everything again', async () => {
  const process = await startProcess({ isShared: true })
  const other = await startProcess({ isShared: true })
  const { accountId } = await createAccounts(store, clock).create('ada@example.com')
  const { clientId } = await other.projects.create({ name: 'p', accountId, scopes: [], resources: [] })
  expect((await process.projects.find(clientId))!.active).toBe(true)
  await other.projects.update(clientId, { active: false })
  await other.revocations.revokeId('t1', revoked)
  await store.run(sql`DELETE FROM changes`)
  process.pass(5001)
  await process.changes.ensureFresh()
  expect((await process.projects.find(clientId))!.active).toBe(false)
  expect(process.revocations.reasonFor(claims('t1'))).toBe('it was revoked')
})

it('what was read before a change and arrives after it is not cached', async () => {
  const process = await startProcess({ isShared: true })
  const other = await startProcess({ isShared: true })
  const { accountId } = await createAccounts(store, clock).create('ada@example.com')
  const { clientId } = await other.projects.create({ name: 'p', accountId, scopes: [], resources: [] })
  const release = process.holdAnswers(({ sql: text }) => text.includes('FROM projects'))
  const late = process.projects.find(clientId)
  await other.projects.update(clientId, { active: false })
  process.pass(5001)
  await process.changes.ensureFresh()
  release()
  await late
  expect((await process.projects.find(clientId))!.active).toBe(false)
})

it('"revoke all" reaches what a process signed with a number from before, whatever the clocks show', async () => {
  const process = await startProcess()
  const before = process.changes.epoch()
  const ahead = Math.floor(clock.now() / 1000) + 86_400
  clock.advance(-10 * 365 * 86_400_000)
  await process.revocations.revokeAll('account', 'a1')
  const token = { jti: 't', iat: ahead, account_id: 'a1' }
  expect(process.revocations.reasonFor({ ...token, epoch: before })).toMatch(/revoked all/)
  expect(process.revocations.reasonFor({ ...token, iat: 0, epoch: process.changes.epoch() })).toBeUndefined()
})

it('each topic has one follower, and no other memory of the store decides', () => {
  const source = join(import.meta.dirname, '../..')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (each) => each.endsWith('.ts') && !each.endsWith('.test.ts'),
  )
  const textOf = (file: string) => readFileSync(join(source, file), 'utf8')
  const filesWith = (pattern: RegExp) => files.filter((each) => pattern.test(textOf(each))).sort()
  const followed = files.flatMap((each) =>
    [...textOf(each).matchAll(/topic: '(\w+)'/g)].map(([, topic]) => topic),
  )
  expect(followed.sort()).toEqual([...topics].sort())
  expect(filesWith(/new RecentMap/)).toEqual([
    // Its entries count for one value of the cache of the topic "issuer" only.
    'registry/projects/federated-subjects.ts',
    // It notes when tokens were used last, for people to see.
    'registry/use-notes.ts',
    'storage/changes/trust-cache.ts',
    // Metadata and keys of other issuers, which are not in the store.
    'tokens/company/metadata.ts',
    'tokens/federation/issuer-keys.ts',
  ])
})
