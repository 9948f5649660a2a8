/** Join keys on every store and with two replicas: who joins, in which races, and what ends a key. */
import { generateKeyPairSync } from 'node:crypto'
import { maxAccountTags } from '@selvedge/protocol/console'
import { joinLimits } from '@selvedge/protocol/tokens'
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { createAudit } from '../../storage/audit/audit.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { createEnrolment } from '../../tokens/enrolment/enrolment.ts'
import { createJoins } from '../../tokens/enrolment/join.ts'
import { createDeviceLabels } from '../nodes/device-labels.ts'
import { createNodes } from '../nodes/nodes.ts'
import { createAccounts } from '../people/accounts.ts'
import { createPeople } from '../people/people.ts'
import { createProjects } from '../projects/projects.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { createJoinBlocks } from './join-blocks.ts'
import { createJoinKeys } from './join-keys.ts'
import { createJoinRules } from './join-rules.ts'
import { createJoinUses } from './join-uses.ts'
import { removeOldKeys } from './old-keys.ts'

const day = 86_400_000
const maxNodes = 200
/** A public key that an agreement is possible with. */
const agreement = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
const nodeIdOf = (number: number) => number.toString(16).padStart(56, '0').replace(/^0/, 'e')

describeOnStores(
  'join keys on %s',
  (makeDatabase, kind) => {
    const clock = createFakeClock()
    let stores: SqlStore[]
    let stops: (() => Promise<void>)[]
    let all: Awaited<ReturnType<typeof open>>[]
    let accountId: string
    let maker: string
    let limited: string[]

    async function open(store: SqlStore) {
      const log = createMemoryLog()
      const changes = await openChanges({ store, clock, system: createFakeClock(), log, maxAgeMs: 60_000 })
      stops.push(changes.stop)
      const revocations = await openRevocations(store, clock, changes, 3600, noFolding)
      const audit = createAudit(store, clock, { keepMs: 1e12, perAccount: 1e6 })
      const parts = { store, clock, changes, revocations, seal: createSeal([Buffer.alloc(32, 9)]) }
      const nodes = createNodes({ ...parts, maxNodes })
      const labels = createDeviceLabels(store)
      const joinKeys = createJoinKeys(store, clock, labels.tagsOf)
      const joinUses = createJoinUses(store, clock)
      const limits = {
        takeEnrolment: async () => undefined,
        takeJoin: async (keyId: string) => void limited.push(keyId),
      }
      const enrolment = createEnrolment({
        ...{ clock, nodes, limits, enrolment: 'code', codes: { redeem: async () => false } },
        ...{ deviceAudit: async () => [], leaseAudit: async () => [] },
        ...{ vitals: { find: async () => undefined }, history: { record: () => [] } },
        ...{ issuer: () => '', tenantVerifier: {} as never, trust: {} as never, revocations },
        joins: createJoins({ joinKeys, joinUses, nodes, limits, audit }),
      })
      return {
        ...{ store, changes, audit, nodes, joinKeys, joinUses, enrolment },
        labels,
        rules: createJoinRules(store),
        accounts: createAccounts(store, clock),
        people: createPeople(store, changes, revocations, clock),
        projects: createProjects({ ...parts, keys: { prepare: async () => undefined }, maxProjects: 10 }),
        blocks: createJoinBlocks(store, nodes, audit),
      }
    }

    beforeEach(async () => {
      const url = await makeDatabase()
      stops = []
      limited = []
      stores = [await openSql(url, migrations), await openSql(url, migrations)].slice(
        0,
        kind === 'postgres' ? 2 : 1,
      )
      all = []
      for (const store of stores) all.push(await open(store))
      ;({ accountId } = await one().accounts.create('ada@example.com'))
      maker = (await one().people.byEmail('ada@example.com'))!.personId
    })
    afterEach(async () => {
      for (const stop of stops) await stop()
      for (const store of stores) await store.close()
    })

    const one = () => all[0]!
    /** Another replica; on SQLite the same process. */
    const other = () => all.at(-1)!
    const replica = (number: number) => all[number % all.length]!
    const make = async (more: object = {}) => {
      const made = await one().joinKeys.create({
        ...{ accountId, madeBy: maker, title: '', name: '', tags: [], project: '', uses: 5, approve: false },
        ...{ until: clock.now() + day, ...more },
      })
      return { ...made, keyId: made.shown.keyId }
    }
    const arrive = (number: number, key: string, serial?: string, at = replica(number)) =>
      at.enrolment.bringUpToDate(
        nodeIdOf(number),
        {
          ...{ name: `host-${number}`, hmac_key: agreement, version: '1', services: [] },
          join: { key, ...(serial !== undefined && { serial }) },
        } as never,
        '192.0.2.1',
      )
    const refusal = (number: number, key: string, at = replica(number)) =>
      arrive(number, key, undefined, at).then(
        () => 'joined',
        (cause: Error) => cause.message,
      )
    const usedOf = async (keyId: string) =>
      (await one().joinKeys.list(accountId)).find((each) => each.keyId === keyId)!
    const fillAccount = () =>
      one().store.run(
        sql`INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at, version,
          services, removed_account) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${maxNodes})
          SELECT 'full-' || CAST(i AS TEXT), 'x', CAST(${accountId} AS TEXT), '', '', '', 0, 0, '', '[]', '' FROM n`,
      )
    const joinsInAudit = async () =>
      (await one().audit.list(accountId, 1000, undefined, { action: 'device.join' })).length

    it('let a device join at its first request, with the name and the tags of the key', async () => {
      const { secret, keyId } = await make({ name: 'kiosk-{serial}', tags: ['team:kiosk'] })
      expect((await arrive(1, secret, 'SN-1')).accountId).toBe(accountId)
      const label = await one().labels.find(accountId, nodeIdOf(1))
      expect(label).toEqual({ name: 'kiosk-SN-1', tags: ['team:kiosk'] })
      expect(await usedOf(keyId)).toMatchObject({
        ...{ used: 1, uses: 5, ending: null, madeBy: 'ada@example.com', project: null, approve: false },
      })
      expect(limited).toEqual([keyId])
      const [entry] = await one().audit.list(accountId, 10, undefined, { action: 'device.join' })
      expect(entry).toMatchObject({
        subject: nodeIdOf(1),
        ...{ address: '192.0.2.1', actor: 'the device', outcome: 'ok' },
        detail: `kiosk-SN-1, with the join key ${keyId}`,
      })
    })

    it('change nothing when the same device repeats its request, also after the key has expired', async () => {
      const { secret, keyId } = await make({ uses: 1, name: 'kiosk' })
      await arrive(1, secret)
      await one().labels.set(accountId, nodeIdOf(1), { name: 'by a person', tags: [] })
      clock.advance(2 * day)
      expect((await arrive(1, secret, undefined, other())).accountId).toBe(accountId)
      expect((await usedOf(keyId)).used).toBe(1)
      expect(await joinsInAudit()).toBe(1)
      expect((await one().labels.find(accountId, nodeIdOf(1))).name).toBe('by a person')
    })

    it('let exactly one of fifty devices have the last use', async () => {
      const { secret, keyId } = await make({ uses: 1 })
      const results = await Promise.all(Array.from({ length: 50 }, (_, at) => refusal(at, secret)))
      expect(results.filter((each) => each === 'joined')).toHaveLength(1)
      expect(new Set(results.filter((each) => each !== 'joined'))).toEqual(
        new Set(['the join key is not accepted: all its uses are used up']),
      )
      expect(await usedOf(keyId)).toMatchObject({ used: 1, ending: 'used_up' })
      expect((await one().nodes.list(accountId)).length).toBe(1)
    })

    it('let one node join once with requests to two replicas at the same time', async () => {
      const { secret, keyId } = await make()
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, at) => arrive(7, secret, undefined, replica(at))),
      )
      expect(new Set(results.map((each) => each.accountId))).toEqual(new Set([accountId]))
      expect((await usedOf(keyId)).used).toBe(1)
      expect(await joinsInAudit()).toBe(1)
    })

    it('take no use where the account is full, and let the device join once it has room', async () => {
      const { secret, keyId } = await make({ uses: 1000 })
      await fillAccount()
      expect(await refusal(1, secret)).toMatch(`the account has ${maxNodes} nodes already`)
      expect((await usedOf(keyId)).used).toBe(0)
      expect(await one().nodes.find(nodeIdOf(1))).toBeUndefined()
      await one().store.run(sql`DELETE FROM nodes WHERE node_id = 'full-1'`)
      expect(await refusal(1, secret)).toBe('joined')
    })

    it('stay secret: the store has a hash', async () => {
      const { secret } = await make()
      expect(secret).toMatch(/^sj_[\w-]{32}$/)
      const rows = await one().store.run(sql`SELECT * FROM join_keys`)
      expect(JSON.stringify(rows)).not.toContain(secret)
      expect(JSON.stringify(await one().joinKeys.list(accountId))).not.toContain(secret)
    })

    describe('are refused with the reason', () => {
      it('where they are unknown', async () => {
        expect(await refusal(1, `sj_${'g'.repeat(32)}`, one())).toMatch('no such key is known')
        expect(await one().nodes.find(nodeIdOf(1))).toBeUndefined()
        for (let guess = 2; guess <= 60; guess++)
          expect(await refusal(1, `sj_${guess}`, one())).toMatch('no such key is known')
        expect(await refusal(1, 'sj_61', one())).toMatch('unknown join keys from this address')
      })

      it('after they have expired', async () => {
        const { secret, keyId } = await make()
        clock.advance(day - 1)
        expect(await refusal(1, secret)).toBe('joined')
        clock.advance(1)
        expect(await refusal(2, secret)).toMatch('it has expired')
        expect((await usedOf(keyId)).ending).toBe('expired')
      })

      it('after they were revoked', async () => {
        const { secret, keyId } = await make()
        await expect(one().joinKeys.revoke('another', keyId, '')).rejects.toMatchObject({
          reason: 'not_found',
        })
        await other().joinKeys.revoke(accountId, keyId, '')
        expect(await refusal(1, secret)).toMatch('it was revoked')
        expect((await usedOf(keyId)).ending).toBe('revoked')
        const [entry] = await one().audit.list(accountId, 10, undefined, { outcome: 'refused' })
        expect(entry).toMatchObject({
          ...{ action: 'join_key.use', subject: keyId, address: '192.0.2.1', actor: 'a device' },
          detail: `${nodeIdOf(1)}: it was revoked`,
        })
        for (let time = 0; time < 25; time++) await refusal(1, secret)
        expect(await one().audit.list(accountId, 100, undefined, { outcome: 'refused' })).toHaveLength(20)
      })

      it('once their maker is no owner any more, also if the person becomes one again', async () => {
        const { secret, keyId } = await make()
        await one().store.run(sql`INSERT INTO people VALUES ('second', 'eve@example.com', '', 0)`)
        await one().store.run(sql`INSERT INTO members VALUES (${accountId}, 'second', 'owner', 0)`)
        await one().people.setRole(accountId, maker, 'member')
        expect(await refusal(1, secret)).toMatch('its maker is no owner of the account any more')
        await one().people.setRole(accountId, maker, 'owner')
        expect(await refusal(1, secret)).toMatch('it was revoked')
        expect((await usedOf(keyId)).ending).toBe('revoked')
      })

      it.each(['is turned off', 'is deleted'])('once their project %s', async (how) => {
        const { clientId } = await one().projects.create({ name: 'p', accountId, scopes: [], resources: [] })
        const { secret } = await make({ project: clientId })
        expect(await refusal(1, secret)).toBe('joined')
        if (how === 'is deleted') await one().projects.remove(clientId)
        else await one().projects.update(clientId, { active: false })
        expect(await refusal(2, secret)).toMatch('its project is turned off or deleted')
        if (how === 'is deleted') return
        await one().projects.update(clientId, { active: true })
        expect(await refusal(2, secret)).toMatch('it was revoked')
      })

      it('for a device that its owner removed, until there is a newer key', async () => {
        const { secret } = await make()
        await arrive(1, secret)
        await one().nodes.removeAccount(nodeIdOf(1))
        expect(await refusal(1, secret)).toMatch('removed from its account')
        const later = await make()
        expect(await refusal(1, later.secret)).toBe('joined')
      })

      it('for a device that left its account without them', async () => {
        const first = await make()
        const { secret } = await make()
        await arrive(1, first.secret)
        await one().nodes.removeAccount(nodeIdOf(1))
        expect(await refusal(1, secret)).toMatch('removed from its account')
      })

      it('for a device of another account', async () => {
        const { secret } = await make()
        await arrive(1, secret)
        const { accountId: second } = await one().accounts.create('eve@example.com')
        const eve = (await one().people.byEmail('eve@example.com'))!.personId
        const key = await make({ accountId: second, madeBy: eve })
        expect(await refusal(1, key.secret)).toMatch('the device belongs to another account')
      })

      it('for a blocked device, as everything is', async () => {
        const { secret } = await make()
        await arrive(1, secret)
        await one().nodes.setBlocked(nodeIdOf(1), true)
        expect(await refusal(1, secret)).toMatch('this node is blocked')
      })
    })

    describe('with approval', () => {
      it('let a device wait, and join once it was approved', async () => {
        const { secret, keyId } = await make({ approve: true, name: 'lab', title: 'lab key' })
        expect((await arrive(1, secret, 'SN 1')).accountId).toBe('')
        expect((await arrive(1, secret, 'SN-2', other())).accountId).toBe('')
        expect(await usedOf(keyId)).toMatchObject({ used: 1, waiting: 1 })
        const [waiting, ...more] = await other().joinUses.waiting(accountId)
        expect(more).toEqual([])
        expect(waiting).toMatchObject({
          ...{ nodeId: nodeIdOf(1), name: 'host-1', serial: '', address: '192.0.2.1', keyTitle: 'lab key' },
          version: '1',
          fingerprint: nodeIdOf(1)
            .slice(0, 16)
            .replace(/(.{4})(?=.)/g, '$1-'),
        })
        expect(await one().joinUses.waiting('another')).toEqual([])
        await one().joinUses.decide(accountId, nodeIdOf(1), 'approved')
        clock.advance(2 * day)
        expect((await arrive(1, secret)).accountId).toBe(accountId)
        expect((await one().labels.find(accountId, nodeIdOf(1))).name).toBe('lab')
        expect(await one().joinUses.waiting(accountId)).toEqual([])
        expect(await joinsInAudit()).toBe(1)
        expect(limited).toEqual([keyId])
      })

      it('refuse a device that an owner refused, and one by a key that was revoked meanwhile', async () => {
        const { secret, keyId } = await make({ approve: true })
        for (const number of [1, 2, 3]) await arrive(number, secret)
        await one().joinUses.decide(accountId, nodeIdOf(1), 'refused')
        expect(await refusal(1, secret)).toMatch('an owner refused this device')
        await one().joinUses.decide(accountId, nodeIdOf(2), 'approved')
        await one().joinKeys.revoke(accountId, keyId, '')
        expect(await refusal(2, secret)).toMatch('it was revoked')
        expect(await one().joinUses.waiting(accountId)).toEqual([])
        for (const number of [1, 2, 3, 4])
          await expect(one().joinUses.decide(accountId, nodeIdOf(number), 'approved')).rejects.toMatchObject({
            reason: 'not_found',
          })
      })

      it('of the whole account let devices wait by any key, and those that wait already after it is gone', async () => {
        const { secret, keyId } = await make()
        expect((await arrive(1, secret)).accountId).toBe(accountId)
        await one().rules.set(accountId, { approve: true })
        expect([await other().rules.find(accountId), await one().rules.find('another')]).toEqual([
          { approve: true },
          { approve: false },
        ])
        expect((await arrive(1, secret)).accountId).toBe(accountId)
        expect((await arrive(2, secret, undefined, other())).accountId).toBe('')
        expect(await usedOf(keyId)).toMatchObject({ used: 2, waiting: 1, approve: false })
        await other().rules.set(accountId, { approve: false })
        expect((await arrive(2, secret)).accountId).toBe('')
        expect((await arrive(3, secret)).accountId).toBe(accountId)
        await one().joinUses.decide(accountId, nodeIdOf(2), 'approved')
        expect((await arrive(2, secret)).accountId).toBe(accountId)
      })

      it('that began after a device has shown its key lets it wait', async () => {
        const { secret } = await make()
        const found = one().joinKeys.find
        one().joinKeys.find = async (...of) => {
          one().joinKeys.find = found
          const key = await found(...of)
          await one().rules.set(accountId, { approve: true })
          return key
        }
        expect((await arrive(1, secret, undefined, one())).accountId).toBe('')
        expect(await one().joinUses.waiting(accountId)).toHaveLength(1)
      })

      it('cannot be decided by another account', async () => {
        const { secret } = await make({ approve: true })
        await arrive(1, secret)
        await expect(one().joinUses.decide('another', nodeIdOf(1), 'approved')).rejects.toMatchObject({
          reason: 'not_found',
        })
        expect((await arrive(1, secret)).accountId).toBe('')
      })

      it('let an approved device of a full account wait for room', async () => {
        const { secret } = await make({ approve: true })
        await arrive(1, secret)
        await one().joinUses.decide(accountId, nodeIdOf(1), 'approved')
        await fillAccount()
        expect(await refusal(1, secret)).toMatch('nodes already')
        await one().store.run(sql`DELETE FROM nodes WHERE node_id = 'full-1'`)
        expect((await arrive(1, secret)).accountId).toBe(accountId)
      })

      it('let no more devices wait than the account may have', async () => {
        const { secret, keyId } = await make({ approve: true, uses: joinLimits.uses })
        await one().store.run(
          sql`INSERT INTO join_uses WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${joinLimits.waiting})
            SELECT CAST(${keyId} AS TEXT), 'w-' || CAST(i AS TEXT), CAST(${accountId} AS TEXT), i, 'waiting', '', '', 0, 0 FROM n`,
        )
        expect(await refusal(1, secret)).toMatch('too many devices wait')
        await one().joinUses.decide(accountId, 'w-1', 'refused')
        expect(await refusal(1, secret)).toBe('joined')
        expect(await one().joinUses.waiting(accountId)).toHaveLength(joinLimits.waiting)
      })
    })

    describe('give names', () => {
      it.each(['../../etc', 'a b', 'x'.repeat(65), '', '\u202Ekcatta', "'; DROP TABLE nodes; --"])(
        'without the serial number %j',
        async (serial) => {
          const { secret } = await make({ name: 'k-{serial}' })
          await arrive(1, secret, serial)
          expect((await one().labels.find(accountId, nodeIdOf(1))).name).toBe(`k-${nodeIdOf(1).slice(0, 8)}`)
        },
      )

      it('that no other device of the account has: one that states the same serial number gets its ID', async () => {
        const { secret } = await make({ name: 'Kiosk-{serial}' })
        await arrive(1, secret, 'SN-1')
        await arrive(2, secret, 'sn-1')
        expect((await one().labels.find(accountId, nodeIdOf(2))).name).toBe(
          `Kiosk-sn-1-${nodeIdOf(2).slice(0, 8)}`,
        )
      })

      it('of the longest kind, with an ID as well, and tags alone', async () => {
        const name = 'x'.repeat(joinLimits.nameCharacters)
        const { secret } = await make({ name })
        for (const number of [1, 2]) await arrive(number, secret)
        const id = nodeIdOf(2).slice(0, 8)
        expect((await one().labels.find(accountId, nodeIdOf(2))).name).toBe(`${name.slice(9)}-${id}`)
        await arrive(3, (await make({ tags: ['team:lab'] })).secret)
        expect(await one().labels.find(accountId, nodeIdOf(3))).toEqual({ name: '', tags: ['team:lab'] })
      })
    })

    describe('that are revoked with their devices', () => {
      it('block each of them once, a hundred at a time', async () => {
        const { secret, keyId } = await make({ uses: 150 })
        const untouched = await make()
        await arrive(900, untouched.secret)
        for (let number = 0; number < 103; number++) await arrive(number, secret)
        await one().nodes.removeAccount(nodeIdOf(0))
        await one().joinKeys.revoke(accountId, keyId, 'ada@example.com')
        expect(await one().blocks.block(keyId, '192.0.2.9')).toEqual({ blocked: 100, toBlock: 2 })
        await other().blocks.task.run(clock.now())
        await other().blocks.task.run(clock.now())
        const nodes = await one().nodes.list()
        const isBlocked = (number: number) =>
          nodes.find(({ nodeId }) => nodeId === nodeIdOf(number))!.blockedAt !== null
        expect([0, 1, 101, 102, 900].map(isBlocked)).toEqual([false, true, true, true, false])
        const blocks = await one().audit.list(accountId, 1000, undefined, { action: 'device.block' })
        expect(blocks).toHaveLength(102)
        expect(blocks[0]).toMatchObject({ outcome: 'ok', detail: `it joined with the join key ${keyId}` })
        expect(blocks.filter(({ address }) => address === '192.0.2.9')).toHaveLength(100)
        expect(new Set(blocks.map(({ actor }) => actor))).toEqual(new Set(['ada@example.com']))
        await one().nodes.setBlocked(nodeIdOf(1), false)
        await one().blocks.task.run(clock.now())
        expect((await one().nodes.find(nodeIdOf(1)))!.blockedAt).toBeNull()
      })
    })

    it('are made by owners, for projects of the account, for a bounded time and in bounded number', async () => {
      await expect(make({ until: clock.now() + 367 * day })).rejects.toMatchObject({
        reason: 'invalid_params',
      })
      await expect(make({ until: clock.now() + 59_999 })).rejects.toMatchObject({ reason: 'invalid_params' })
      await expect(make({ until: Number.NaN })).rejects.toMatchObject({ reason: 'invalid_params' })
      await expect(make({ project: 'unknown' })).rejects.toMatchObject({ reason: 'not_found' })
      await expect(make({ madeBy: 'unknown' })).rejects.toMatchObject({ reason: 'conflict' })
      await one().store.run(
        sql`INSERT INTO join_keys WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${joinLimits.keys})
          SELECT 'k-' || CAST(i AS TEXT), CAST(${accountId} AS TEXT), 'h-' || CAST(i AS TEXT), '', '', '[]', '', 1, 0,
            CAST(${maker} AS TEXT), 0, 0, CAST(${clock.now() + day} AS BIGINT), NULL, '' FROM n`,
      )
      await expect(make()).rejects.toMatchObject({ reason: 'limit_exceeded' })
    })

    it('are made with tags that the account has room for, with those of other keys', async () => {
      const tagsOf = (from: number, count: number) =>
        Array.from({ length: count }, (_, at) => `t${from + at}`)
      const refused = (tags: string[]) =>
        make({ tags }).then(
          () => '',
          ({ message }: Error) => message,
        )
      for (let at = 0; at < maxAccountTags - 20; at += 20) await make({ tags: tagsOf(at, 20) })
      const { secret, keyId } = await make({ tags: tagsOf(maxAccountTags - 20, 19) })
      expect(await refused(['new', 'newer'])).toMatch(`at most ${maxAccountTags} different tags`)
      await arrive(1, secret)
      expect(await refused(['t0', 'new', 'newer'])).toMatch(/different tags, with those of its join keys/)
      expect(await refused(['t0', 'new'])).toBe('')
      expect(await refused(['t1', 'newer'])).toMatch('different tags')
      // Its device has the tags still.
      await one().joinKeys.revoke(accountId, keyId, '')
      expect(await refused(['newer'])).toMatch('different tags')
      await one().store.run(sql`UPDATE join_keys SET revoked_at = 1`)
      expect(await refused(tagsOf(3000, 20))).toBe('')
    })

    it('are removed with their uses ninety days after they have expired', async () => {
      const { secret } = await make()
      await arrive(1, secret)
      const task = removeOldKeys(one().store)
      const count = async () =>
        (await one().store.run(sql`SELECT key_id FROM join_keys UNION ALL SELECT node_id FROM join_uses`))
          .length
      await task.run(clock.now() + 91 * day - 1)
      expect(await count()).toBe(2)
      await task.run(clock.now() + 91 * day)
      expect(await count()).toBe(0)
    })
  },
  migrations,
)
