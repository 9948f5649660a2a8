/** Shares and groups on every store: what counts for a person, and what ends it permanently, also in tokens that were issued. */
import { userLimits } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createAccounts } from '../people/accounts.ts'
import { createPeople } from '../people/people.ts'
import { createProjects } from '../projects/projects.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { createGroups } from './groups.ts'
import { createShares } from './shares.ts'

const day = 86_400_000

describeOnStores(
  'shares on %s',
  (makeDatabase, kind) => {
    const clock = createFakeClock()
    let stores: SqlStore[]
    let stops: (() => Promise<void>)[]
    let all: Awaited<ReturnType<typeof open>>[]
    let accountId: string
    let maker: string
    let guest: string
    let clientId: string

    async function open(store: SqlStore) {
      const changes = await openChanges({
        ...{ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 60_000 },
      })
      stops.push(changes.stop)
      const revocations = await openRevocations(store, clock, changes, 3600, noFolding)
      const parts = { store, clock, changes, revocations }
      return {
        ...{ store, changes, revocations },
        accounts: createAccounts(store, clock),
        people: createPeople(store, changes, revocations, clock),
        projects: createProjects({ ...parts, keys: { prepare: async () => undefined }, maxProjects: 10 }),
        shares: createShares(parts),
        groups: createGroups(parts),
      }
    }

    beforeEach(async () => {
      const url = await makeDatabase()
      stops = []
      stores = [await openSql(url, migrations)]
      if (kind === 'postgres') stores.push(await openSql(url, migrations))
      all = []
      for (const store of stores) all.push(await open(store))
      const { accounts, people, projects } = one()
      ;({ accountId } = await accounts.create('ada@example.com'))
      maker = (await people.byEmail('ada@example.com'))!.personId
      await accounts.create('guest@example.com')
      guest = (await people.byEmail('guest@example.com'))!.personId
      ;({ clientId } = await projects.create({ name: 'p', accountId, scopes: [], resources: [] }))
      await one().store.run(
        sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, version,
        services, removed_account) VALUES ('n', 'node', ${accountId}, '', '', '', 0, 0, '', '[]', '')`,
      )
    })
    afterEach(async () => {
      for (const stop of stops) await stop()
      for (const store of stores) await store.close()
    })

    const one = () => all[0]!
    /** Another replica; on SQLite the same process. */
    const other = () => all.at(-1)!
    const add = (more: object = {}, at = one()) =>
      at.shares.add({
        ...{ accountId, nodeId: 'n', clientId, service: 'van', madeBy: maker, with: guest },
        ...{ until: clock.now() + day, ...more },
      })
    const usable = (at = one()) => at.shares.usableBy(guest, { nodeId: 'n', clientId })
    /** Whether devices learn that an ID is revoked. */
    async function isListed(id: string): Promise<boolean> {
      const [row] = await one().store.run(
        sql`SELECT is_listed, account_id FROM revocations WHERE kind = 'id' AND subject = ${id}`,
      )
      if (row) expect(row.account_id).toBe(accountId)
      return row?.is_listed === 1
    }
    /** The device leaves its account, as its own statement does it. */
    const move = (to: string) =>
      one().changes.commit(
        [
          sql`UPDATE nodes SET account_id = ${to}, account_epoch = (SELECT value FROM counters WHERE name = 'changes') WHERE node_id = 'n'`,
        ],
        [['node', 'n']],
      )

    it('count for the person, the project and the device that they name, until they end by themselves', async () => {
      const { shareId } = await add()
      const until = Math.floor((clock.now() + day) / 1000)
      expect(await usable()).toEqual({
        account_id: accountId,
        services: [{ id: shareId, service: 'van', until }],
      })
      expect(await one().shares.usableBy(maker, { nodeId: 'n', clientId })).toBeUndefined()
      expect(await one().shares.usableBy(guest, { nodeId: 'm', clientId })).toBeUndefined()
      expect(await one().shares.usableBy(guest, { nodeId: 'n', clientId: 'other' })).toBeUndefined()
      clock.advance(day)
      expect(await usable()).toBeUndefined()
      expect(await one().shares.list(accountId)).toEqual([])
    })

    it('that are removed are listed as revoked, once', async () => {
      const { shareId } = await add()
      await expect(one().shares.remove('another', shareId)).rejects.toMatchObject({ reason: 'not_found' })
      expect(await isListed(shareId)).toBe(false)
      await other().shares.remove(accountId, shareId)
      expect(await isListed(shareId)).toBe(true)
      expect(await usable()).toBeUndefined()
    })

    it('are listed for as long as a lease may carry them', async () => {
      await one().projects.update(clientId, { offline: { maxDays: 30, scopes: ['openid'] } })
      const { shareId } = await add()
      await one().shares.remove(accountId, shareId)
      const [row] = await one().store.run(
        sql`SELECT listed_until FROM revocations WHERE subject = ${shareId}`,
      )
      expect(row!.listed_until).toBeGreaterThanOrEqual(clock.now() + 30 * day)
    })

    it('end with a device that leaves the account, and do not return with it', async () => {
      await add()
      await move('another')
      expect(await usable()).toBeUndefined()
      await expect(add()).rejects.toMatchObject({ reason: 'conflict' })
      await move(accountId)
      expect(await usable()).toBeUndefined()
      expect(await one().shares.list(accountId)).toEqual([])
    })

    it.each(['removed', 'made a member'])('end with their maker, who is %s', async (how) => {
      const { people } = one()
      await one().accounts.create('second@example.com')
      const second = (await people.byEmail('second@example.com'))!.personId
      await one().store.run(sql`INSERT INTO members VALUES (${accountId}, ${second}, 'owner', 0)`)
      const { shareId } = await add({ madeBy: second })
      const { shareId: kept } = await add({ service: 'crane' })
      if (how === 'removed') await people.remove(accountId, second)
      else await people.setRole(accountId, second, 'member')
      expect(await isListed(shareId)).toBe(true)
      expect(await isListed(kept)).toBe(false)
      expect((await usable())!.services).toMatchObject([{ id: kept }])
    })

    it('end with a person who is removed from the account, also those by a group, and no others', async () => {
      const { people, groups, store } = one()
      await store.run(sql`INSERT INTO members VALUES (${accountId}, ${guest}, 'member', 0)`)
      const { shareId } = await add()
      const { groupId } = await groups.create(accountId, 'drivers')
      await groups.add(accountId, groupId, guest)
      const [membership] = await groups.of(accountId, guest)
      const { shareId: ofGroup } = await add({ service: 'crane', with: 'drivers' })
      await people.remove(accountId, guest)
      expect(await Promise.all([shareId, membership!.id, ofGroup].map(isListed))).toEqual([true, true, false])
      expect(await usable()).toBeUndefined()
      await store.run(sql`INSERT INTO members VALUES (${accountId}, ${guest}, 'member', 0)`)
      expect(await usable()).toBeUndefined()
      expect(await groups.of(accountId, guest)).toEqual([])
    })

    it('do not count while their maker is no owner, whatever removed the right', async () => {
      await add()
      await one().store.run(sql`UPDATE members SET role = 'member' WHERE person_id = ${maker}`)
      expect(await usable()).toBeUndefined()
      await expect(add()).rejects.toMatchObject({ reason: 'conflict' })
    })

    it('end with a project that is turned off, and do not return with it', async () => {
      const { shareId } = await add()
      await one().projects.update(clientId, { active: false })
      expect(await isListed(shareId)).toBe(true)
      await expect(add()).rejects.toMatchObject({ reason: 'conflict' })
      await one().projects.update(clientId, { active: true })
      expect(await usable()).toBeUndefined()
    })

    it('with a group count for its people, by the membership, which is revoked when it ends', async () => {
      const { groups } = one()
      const { groupId } = await groups.create(accountId, 'drivers')
      await add({ with: 'drivers' })
      expect(await usable()).toBeUndefined()
      await groups.add(accountId, groupId, guest)
      const [membership] = await groups.of(accountId, guest)
      expect((await usable())!.services).toMatchObject([{ member: membership!.id }])
      await groups.removePerson(accountId, groupId, guest)
      expect(await isListed(membership!.id)).toBe(true)
      expect(await usable()).toBeUndefined()
      await groups.add(accountId, groupId, guest)
      expect((await groups.of(accountId, guest))[0]!.id).not.toBe(membership!.id)
    })

    it('end with their group, and a later group of the same name does not have them', async () => {
      const { groups } = one()
      const first = await groups.create(accountId, 'drivers')
      await groups.add(accountId, first.groupId, guest)
      const { shareId } = await add({ with: 'drivers' })
      const [membership] = await groups.of(accountId, guest)
      await expect(groups.remove('another', first.groupId)).rejects.toMatchObject({ reason: 'not_found' })
      expect((await usable())!.services).toHaveLength(1)
      expect(await groups.remove(accountId, first.groupId)).toBe('drivers')
      expect([await isListed(shareId), await isListed(membership!.id)]).toEqual([true, true])
      const second = await groups.create(accountId, 'drivers')
      await groups.add(accountId, second.groupId, guest)
      expect(await usable()).toBeUndefined()
      expect(await groups.list(accountId)).toMatchObject([
        { groupId: second.groupId, people: [{ personId: guest }] },
      ])
    })

    it('have a limit of people in a group, also if a thousand join at the same time', async () => {
      const { groups, store } = one()
      const { groupId } = await groups.create(accountId, 'crowd')
      for (let at = 0; at < userLimits.peopleOfGroup - 3; at++)
        await store.run(sql`INSERT INTO group_members VALUES (${`m${at}`}, ${groupId}, ${`p${at}`}, 0, NULL)`)
      await store.run(
        sql`INSERT INTO people WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
        SELECT 'new' || CAST(i AS TEXT), 'new' || CAST(i AS TEXT) || '@example.com', '', 0 FROM n`,
      )
      const tries = await Promise.allSettled(
        Array.from({ length: 100 }, (_, at) =>
          all[at % all.length]!.groups.add(accountId, groupId, `new${at + 1}`),
        ),
      )
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
      expect((await groups.list(accountId))[0]!.people).toHaveLength(userLimits.peopleOfGroup)
    })

    it('that are removed while tokens are issued leave no token that works', async () => {
      for (let round = 0; round < 10; round++) {
        const { shareId } = await add()
        const reads = Array.from({ length: 5 }, (_, at) => usable(all[at % all.length]!))
        const [issued] = await Promise.all([Promise.all(reads), other().shares.remove(accountId, shareId)])
        // What a token may have got is what the list now names.
        for (const shares of issued)
          for (const { id } of shares?.services ?? []) expect(await isListed(id)).toBe(true)
        expect(await usable()).toBeUndefined()
      }
    })

    it('that are made while the right to make them ends do not stay', async () => {
      for (let round = 0; round < 10; round++) {
        await one().store.run(sql`UPDATE members SET role = 'owner' WHERE person_id = ${maker}`)
        const second = `second${round}`
        await one().store.run(sql`INSERT INTO people VALUES (${second}, ${`${second}@example.com`}, '', 0)`)
        await one().store.run(sql`INSERT INTO members VALUES (${accountId}, ${second}, 'owner', 0)`)
        const made = Promise.allSettled([1, 2, 3].map(() => add({ madeBy: second }, one())))
        await Promise.all([made, other().people.remove(accountId, second)])
        expect(await usable()).toBeUndefined()
        const rows = await one().store.run(
          sql`SELECT share_id FROM service_shares WHERE made_by = ${second} AND revoked_at IS NULL`,
        )
        expect(rows).toEqual([])
      }
    })

    it('give a token one share of each service, the longest, and at most sixteen services', async () => {
      await add({ until: clock.now() + day })
      const { shareId } = await add({ until: clock.now() + 2 * day })
      expect((await usable())!.services).toMatchObject([{ id: shareId }])
      for (let at = 0; at < 20; at++) await add({ service: `s${at}` })
      expect((await usable())!.services).toHaveLength(userLimits.shares)
    })

    it('find a person by address only if the account knows it', async () => {
      await expect(add({ with: 'guest@example.com' })).rejects.toMatchObject({ reason: 'not_found' })
      expect(await add({ with: 'ada@example.com' })).toMatchObject({ with: 'ada@example.com' })
      expect(await add({ with: 'Ada@Example.com' })).toMatchObject({ with: 'ada@example.com' })
      const byId = await add()
      expect(byId.with).toBe(guest)
      await one().store.run(
        sql`INSERT INTO authorization_codes VALUES ('h', 's', ${clientId}, '', '', '', '', '""', '', '', 'x', ${guest}, '', 0, 0, '', 0, 1)`,
      )
      expect(await add({ with: 'guest@example.com' })).toMatchObject({ with: 'guest@example.com' })
    })
  },
  migrations,
)
