/** What ends with a person or a device ends in one transaction, with everything that came from it. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, type Statement, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { createSessions } from '../credentials/sessions.ts'
import { createNodes, type Node } from '../nodes/nodes.ts'
import { createProjects } from '../projects/projects.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { createDeviceRequests } from '../sign-ins/device-requests.ts'
import { createSignIns } from '../sign-ins/sign-ins.ts'
import { createAccounts } from './accounts.ts'
import { type Accepted, createLinks } from './links.ts'
import { createPeople, type Role, reachQuery } from './people.ts'

describeOnStores(
  'a removal on %s',
  (makeDatabase) => {
    const clock = createFakeClock()
    let store: SqlStore
    let stop: () => Promise<void>
    let parts: Awaited<ReturnType<typeof open>>
    let fails: (statements: readonly Statement[]) => boolean

    async function open() {
      const own: SqlStore = {
        ...store,
        async transaction(statements) {
          if (!fails(statements)) return store.transaction(statements)
          // Half-way: the last statement breaks the transaction.
          return store.transaction([...statements, sql`INSERT INTO no_such_table VALUES (1)`])
        },
      }
      const changes = await openChanges({
        store: own,
        clock,
        system: clock,
        log: createMemoryLog(),
        maxAgeMs: 60_000,
      })
      stop = changes.stop
      const revocations = await openRevocations(own, clock, changes, 3600, noFolding)
      const people = createPeople(own, changes, revocations, clock)
      const accounts = createAccounts(own, clock)
      const seal = createSeal([Buffer.alloc(32, 9)])
      return {
        changes,
        revocations,
        people,
        accounts,
        links: createLinks(own, clock, 10),
        projects: createProjects({
          store: own,
          clock,
          changes,
          revocations,
          keys: { prepare: async () => undefined },
          maxProjects: 10,
        }),
        nodes: createNodes({ store: own, clock, changes, seal, revocations, maxNodes: 10 }),
        deviceRequests: createDeviceRequests(own, clock, 10, changes.epoch),
        signIns: createSignIns({
          store: own,
          clock,
          secret: Buffer.alloc(32),
          revocations,
          lifetimeSeconds: 3600,
          graceSeconds: 10,
        }),
      }
    }
    beforeEach(async () => {
      store = await openSql(await makeDatabase(), migrations)
      fails = () => false
      parts = await open()
    })
    afterEach(async () => {
      await stop()
      await store.close()
    })

    const isRevoked = (jti: string) => parts.revocations.reasonFor({ jti, iat: 0 }) !== undefined

    async function join(accountId: string, email: string, role: Role): Promise<Accepted> {
      const secret = await parts.links.create(
        { purpose: 'invitation', accountId, role, email: '', madeBy: '' },
        60,
      )
      return (await parts.links.accept(secret, email, ''))!
    }

    /** An owner, and a member with a developer ID token, a sign-in of a terminal, one of a node that came from it, and one that came from that. */
    async function makeMember() {
      const { accountId } = await parts.accounts.create('ada@example.com')
      const { personId } = await join(accountId, 'bob@example.com', 'member')
      const { clientId } = await parts.projects.create({ name: 'p', accountId, scopes: [], resources: [] })
      const later = clock.now() + 86_400_000
      await store.run(
        sql`INSERT INTO developer_tokens VALUES ('jti', ${accountId}, ${clientId}, 0, ${later}, NULL, ${personId}, NULL)`,
      )
      const common = {
        clientId,
        accountId,
        email: 'bob@example.com',
        scope: 'openid',
        audience: 'x',
        jkt: '',
        authTime: 0,
        epoch: parts.changes.epoch(),
        described: '',
      }
      await parts.signIns.begin({ ...common, sid: 'terminal', personId, nodeId: '', origin: '' })
      await parts.signIns.begin({ ...common, sid: 'node', personId: '', nodeId: 'n', origin: 'terminal' })
      await parts.signIns.begin({ ...common, sid: 'below', personId: '', nodeId: 'n', origin: 'node' })
      await parts.signIns.begin({ ...common, sid: 'other', personId: '', nodeId: 'n', origin: 'jti' })
      return { accountId, personId, clientId }
    }
    const everything = ['jti', 'terminal', 'node', 'below', 'other']

    it('of a member ends all that came from the membership, or nothing', async () => {
      const { accountId, personId } = await makeMember()
      fails = (statements) => statements.some((each) => each.sql.startsWith('DELETE FROM members'))
      await expect(parts.people.remove(accountId, personId)).rejects.toThrow()
      expect(await parts.people.members(accountId)).toHaveLength(2)
      expect(everything.map(isRevoked)).toEqual([false, false, false, false, false])
      fails = () => false
      await parts.people.remove(accountId, personId)
      expect(await parts.people.members(accountId)).toHaveLength(1)
      expect(everything.map(isRevoked)).toEqual([true, true, true, true, true])
      expect(await parts.signIns.list(accountId)).toEqual([])
      const shown = sql`SELECT jti FROM developer_tokens WHERE revoked_at IS NULL`
      expect(await store.run(shown)).toEqual([])
    })

    it('of a member ends the sessions in this account, and those in other accounts of the person stay', async () => {
      const { accountId, personId } = await makeMember()
      const { accountId: other } = await parts.accounts.create('eve@example.com')
      await store.run(sql`INSERT INTO members VALUES (${other}, ${personId}, 'member', 0)`)
      const sessions = createSessions(store, clock, parts.changes, reachQuery)
      const signIn = (account: string) =>
        sessions.create({
          ...{ personId, accountId: account, method: 'password', address: '', userAgent: '', jkt: '' },
        })
      await signIn(accountId)
      await signIn(other)
      const accountsOfSessions = async () =>
        (await store.run(sql`SELECT account_id FROM sessions WHERE person_id = ${personId}`)).map(
          (row) => row.account_id,
        )
      expect(new Set(await accountsOfSessions())).toEqual(new Set([accountId, other]))
      await parts.people.remove(accountId, personId)
      expect(await accountsOfSessions()).toEqual([other])
    })

    it('of the last owner ends nothing', async () => {
      const { accountId } = await makeMember()
      const owner = (await parts.people.byEmail('ada@example.com'))!
      await store.run(sql`UPDATE developer_tokens SET person_id = ${owner.personId}`)
      await expect(parts.people.remove(accountId, owner.personId)).rejects.toThrow(/last owner/)
      expect(isRevoked('jti')).toBe(false)
    })

    it('that is repeated completes what is marked as revoked and not listed', async () => {
      const { accountId } = await makeMember()
      await store.run(sql`UPDATE sign_ins SET revoked_at = 1`)
      await store.run(sql`UPDATE developer_tokens SET revoked_at = 1`)
      await parts.revocations.revokeTree(sql`SELECT CAST(${'jti'} AS TEXT) AS id`)
      expect(everything.map(isRevoked)).toEqual([true, false, false, false, true])
      await parts.signIns.revoke('terminal')
      expect(everything.map(isRevoked)).toEqual([true, true, true, true, true])
      expect(await parts.signIns.list(accountId)).toEqual([])
    })

    it('of a member reaches the sign-in of a terminal that the member approved and that was not picked up', async () => {
      const { accountId, personId, clientId } = await makeMember()
      const request = { clientId, scope: 'openid', jkt: '', address: '', userAgent: '' }
      const by = { accountId, personId, email: 'bob@example.com', authTime: 0 }
      const before = await parts.deviceRequests.create(request)
      expect(await parts.deviceRequests.decide(before.userCode, by)).toBe(true)
      await parts.people.remove(accountId, personId)
      expect((await parts.deviceRequests.poll(before.deviceCode, clientId)).outcome).not.toBe('approved')
      const after = await parts.deviceRequests.create(request)
      expect(await parts.deviceRequests.decide(after.userCode, by)).toBe(false)
    })

    it('of a node from its account changes the key that the others know each other by, as does blocking it', async () => {
      const { accountId } = await makeMember()
      const node = (nodeId: string, account: string): Node => ({
        nodeId,
        name: 'n',
        accountId: account,
        hmac: { nodeKey: '{}', cloudKey: '{}', secret: 'x' },
        enrolledAt: 0,
        lastSeenAt: 0,
        blockedAt: null,
        version: '',
        services: [],
        removedAccount: '',
        accountEpoch: 0,
        accountAt: 0,
      })
      const save = (nodeId: string, account: string, accountBefore: string) =>
        parts.nodes.save(node(nodeId, account), { isNews: true, accountBefore })
      for (const id of ['x', 'y', 'z']) await save(id, accountId, '')
      const seen = [await parts.nodes.accountKeyEpoch(accountId)]
      const left = (await save('x', '', accountId))!
      expect([left.accountId, left.accountEpoch]).toEqual(['', parts.changes.epoch()])
      seen.push(await parts.nodes.accountKeyEpoch(accountId))
      await parts.nodes.removeAccount('y')
      seen.push(await parts.nodes.accountKeyEpoch(accountId))
      await parts.nodes.setBlocked('z', true)
      seen.push(await parts.nodes.accountKeyEpoch(accountId))
      expect(new Set(seen).size).toBe(4)
      // What a node read before its owner removed the account does not bring the account back.
      expect((await save('y', accountId, accountId))?.accountId).toBe('')
    })
  },
  migrations,
)
