/** Trusted issuers and their subjects on every store, with two replicas. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations, tables } from '../../storage/schema.ts'
import { createPeople } from '../people/people.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { createSignIns, newSid } from '../sign-ins/sign-ins.ts'
import { createFederatedSubjects } from './federated-subjects.ts'
import { createTrustedIssuers } from './issuers.ts'
import { createProjects } from './projects.ts'

const day = 86_400_000
const [accountId, personId] = ['account', 'person']

describeOnStores(
  '%s',
  (makeDatabase) => {
    const clock = createFakeClock()
    let store: SqlStore
    let one: Awaited<ReturnType<typeof startReplica>>
    let other: typeof one
    let clientId: string
    const stops: (() => Promise<void>)[] = []

    async function startReplica(url: string) {
      const own = await openSql(url, migrations)
      const log = createMemoryLog()
      const changes = await openChanges({ store: own, clock, system: clock, log, maxAgeMs: 5000 })
      stops.push(async () => {
        await changes.stop()
        await own.close()
      })
      const revocations = await openRevocations(own, clock, changes, 3600, noFolding)
      const shared = { store: own, clock, log, changes, revocations }
      return {
        changes,
        revocations,
        issuers: createTrustedIssuers({ ...shared, issuer: () => 'https://own.example', maxIssuers: 3 }),
        subjects: createFederatedSubjects(shared),
        projects: createProjects({ ...shared, keys: { prepare: async () => undefined }, maxProjects: 1000 }),
        people: createPeople(own, changes, revocations, clock),
        signIns: createSignIns({
          ...shared,
          secret: Buffer.alloc(32),
          lifetimeSeconds: 86_400,
          graceSeconds: 10,
        }),
      }
    }

    beforeAll(async () => {
      const url = await makeDatabase()
      store = await openSql(url, migrations)
      one = await startReplica(url)
      other = store.isShared ? await startReplica(url) : one
      await store.transaction([
        sql`INSERT INTO accounts VALUES (${accountId}, 'a@example.com', 0)`,
        ...[personId, 'owner'].flatMap((id) => [
          sql`INSERT INTO people VALUES (${id}, ${`${id}@example.com`}, '', 0)`,
          sql`INSERT INTO members VALUES (${accountId}, ${id}, 'owner', 0)`,
        ]),
      ])
    })
    afterAll(async () => {
      for (const stop of stops) await stop()
      await store?.close()
    })
    beforeEach(async () => {
      clientId = (await one.projects.create({ name: 'p', accountId, scopes: [], resources: [] })).clientId
    })

    const add = (more: object = {}) =>
      one.issuers.create({
        clientId,
        issuer: 'https://issuer.example',
        audiences: ['a'],
        conditions: [{ claim: 'sub', value: 's' }],
        scopes: ['edge:mcm'],
        as: 'workload',
        algorithms: ['RS256', 'EdDSA'],
        allowsPrivate: false,
        ...more,
      })
    const rulesOf = async (replica: typeof one) => {
      await replica.changes.ensureFresh()
      return replica.issuers.of(clientId)
    }
    /** Waits until the other replica has read the changes. */
    const settled = () => expect.poll(() => other.changes.epoch()).toBe(one.changes.epoch())
    const isRevoked = (sid: string) => one.revocations.reasonFor({ jti: sid, iat: 0 }) !== undefined

    it('a rule is stored as it was made, and another replica learns of it and of its end', async () => {
      expect(await rulesOf(other)).toEqual({ rules: [] })
      const rule = await add()
      await settled()
      expect((await rulesOf(other)).rules).toEqual([rule])
      await one.issuers.end([rule], { remove: true })
      await settled()
      expect((await rulesOf(other)).rules).toEqual([])
    })

    it('a rule that was removed stays removed when another owner revokes what it gave', async () => {
      const rule = await add()
      await one.issuers.end([rule], { remove: true })
      await other.issuers.end([rule], {})
      expect(await one.issuers.list(clientId)).toEqual([])
    })

    it('at most so many rules are added, however many at once; removed ones do not count', async () => {
      const all = await Promise.allSettled(
        Array.from({ length: 8 }, (_, at) => add({ audiences: [`audience ${at}`] })),
      )
      expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
      const { rules } = await rulesOf(one)
      await one.issuers.end(rules.slice(0, 1), { remove: true })
      await add({ audiences: ['another'] })
      await expect(add({ audiences: ['more'] })).rejects.toMatchObject({ reason: 'limit_exceeded' })
    })

    it('a workload keeps its sid, until it is revoked; others are not revoked with it', async () => {
      const rule = await add()
      const enter = async (replica: typeof one, subject: string) =>
        replica.subjects.workload(await rulesOf(replica), rule, accountId, subject)
      const [first, second] = [await enter(one, 's'), await enter(one, 't')]
      await settled()
      expect((await enter(other, 's')).sid).toBe(first.sid)
      await one.issuers.end([rule], { subject: 's' })
      expect([isRevoked(first.sid), isRevoked(second.sid)]).toEqual([true, false])
      await settled()
      for (const replica of [one, other]) {
        const again = await enter(replica, 's')
        expect(again.subjectId).toBe(first.subjectId)
        expect(again.sid).not.toBe(first.sid)
        expect(again.notBefore * 1000).toBeGreaterThan(clock.now())
      }
    })

    it('many requests at once make one subject', async () => {
      const rule = await add()
      const of = await rulesOf(one)
      const all = await Promise.all(
        Array.from({ length: 20 }, () => one.subjects.workload(of, rule, accountId, 'same')),
      )
      expect(new Set(all.map(({ sid }) => sid)).size).toBe(1)
    })

    it('the end of a rule reaches a sign-in that began long ago', async () => {
      const rule = await add({ as: 'person', scopes: ['offline_access'] })
      await one.subjects.linkPerson(rule, accountId, 's', personId)
      const { sid: origin, email } = (await one.subjects.person(rule, 's'))!
      expect(email).toBe('person@example.com')
      const sid = newSid()
      const token = await one.signIns.begin({
        ...{ sid, clientId, accountId, personId, email, nodeId: 'n', origin, scope: 'offline_access' },
        ...{ audience: 'x', jkt: '', authTime: 0, epoch: one.changes.epoch(), described: '' },
      })
      await store.run(sql`UPDATE federated_subjects SET last_used_at = 0 WHERE subject = 's'`)
      await one.issuers.end([rule], {})
      expect([isRevoked(origin), isRevoked(sid)]).toEqual([true, true])
      expect(await one.signIns.isCurrent(token)).toBe(false)
      await one.issuers.end([rule], { remove: true })
    })

    it('revokes with the entries of their account, and no subject with tokens that have expired', async () => {
      const rule = await add()
      const of = await rulesOf(one)
      const fresh = await one.subjects.workload(of, rule, accountId, 'fresh')
      const idle = await one.subjects.workload(of, rule, accountId, 'idle')
      await store.run(
        sql`UPDATE federated_subjects SET last_used_at = ${clock.now() - 3 * day} WHERE subject = 'idle'`,
      )
      await one.issuers.end([rule], {})
      expect([isRevoked(fresh.sid), isRevoked(idle.sid)]).toEqual([true, false])
      const rows = await store.run(sql`SELECT account_id FROM revocations WHERE subject = ${fresh.sid}`)
      expect(rows).toEqual([{ account_id: accountId }])
    })

    it('a use is written before a token can be issued, also after a long pause', async () => {
      const rule = await add()
      const of = await rulesOf(one)
      const enter = () => one.subjects.workload(of, rule, accountId, 'pausing')
      const { sid } = await enter()
      clock.advance(5 * day)
      await enter()
      await one.issuers.end([rule], {})
      expect(isRevoked(sid)).toBe(true)
    })

    it('a person who left the account is let in no more, and what was issued is revoked', async () => {
      const rule = await add({ as: 'person' })
      await one.subjects.linkPerson(rule, accountId, 'p', personId)
      const { sid } = (await one.subjects.person(rule, 'p'))!
      await expect(one.subjects.linkPerson(rule, accountId, 'p', 'owner')).rejects.toMatchObject({
        reason: 'already_exists',
      })
      await one.people.remove(accountId, personId)
      expect(isRevoked(sid)).toBe(true)
      expect(await one.subjects.person(rule, 'p')).toBeUndefined()
    })

    it('an idle workload is forgotten after a week, a link is not, and a removed rule is removed with its subjects', async () => {
      const rule = await add({ as: 'person' })
      await one.subjects.linkPerson(rule, accountId, 'linked', 'owner')
      await one.subjects.workload(await rulesOf(one), rule, accountId, 'idle')
      const left = async () => (await one.subjects.list(clientId)).map(({ subject }) => subject).toSorted()
      await one.subjects.task.run(clock.now() + 6 * day)
      expect(await left()).toEqual(['idle', 'linked'])
      await one.subjects.task.run(clock.now() + 8 * day)
      expect(await left()).toEqual(['linked'])
      await store.run(sql`DELETE FROM project_issuers WHERE client_id = ${clientId}`)
      expect(await store.run(sql`SELECT 1 AS one FROM federated_subjects WHERE subject = 'linked'`)).toEqual(
        [],
      )
    })

    it('both tables are copied with the others, after what they refer to', () => {
      const order = ['projects', 'project_issuers', 'federated_subjects'] as const
      expect(tables.filter((each) => (order as readonly string[]).includes(each))).toEqual(order)
    })
  },
  migrations,
)
