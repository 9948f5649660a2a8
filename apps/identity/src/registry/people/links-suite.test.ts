/** One-time sign-in links, on every store: exactly one caller uses a link, and only as the person it was made for. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { createAccounts } from './accounts.ts'
import { createLinks, maxLinks } from './links.ts'
import { createPeople, type Role } from './people.ts'

const maxMembers = 4
const week = 7 * 86_400

describeOnStores(
  'a link on %s',
  (makeDatabase, kind) => {
    const clock = createFakeClock()
    let stores: SqlStore[]
    let stop: () => Promise<void>
    let parts: Awaited<ReturnType<typeof open>>
    /** The same links as another replica has them; on SQLite, the same process again. */
    let replicas: ReturnType<typeof createLinks>[]

    async function open(store: SqlStore) {
      const changes = await openChanges({
        store,
        clock,
        system: clock,
        log: createMemoryLog(),
        maxAgeMs: 60_000,
      })
      stop = changes.stop
      const revocations = await openRevocations(store, clock, changes, 3600, noFolding)
      return {
        accounts: createAccounts(store, clock),
        people: createPeople(store, changes, revocations, clock),
        links: createLinks(store, clock, maxMembers),
        store,
      }
    }
    beforeEach(async () => {
      const url = await makeDatabase()
      stores = [await openSql(url, migrations)]
      if (kind === 'postgres') stores.push(await openSql(url, migrations))
      parts = await open(stores[0]!)
      replicas = stores.map((store) => createLinks(store, clock, maxMembers))
    })
    afterEach(async () => {
      await stop()
      for (const store of stores) await store.close()
    })

    const ownerOf = async (email: string) => {
      const { accountId } = await parts.accounts.create(email)
      return { accountId, personId: (await parts.people.byEmail(email))!.personId }
    }
    const invite = (accountId: string, madeBy: string, role: Role = 'member') =>
      parts.links.create({ purpose: 'invitation', accountId, role, email: '', madeBy }, week)
    const parallel = <T>(count: number, work: (at: number) => Promise<T>) =>
      Promise.all(Array.from({ length: count }, (_, at) => work(at)))
    const replica = (at: number) => replicas[at % replicas.length]!

    it('lets one of ten in that use it at the same time, in 10 rounds', async () => {
      for (let round = 0; round < 10; round++) {
        const { accountId, personId } = await ownerOf(`owner${round}@example.com`)
        const secret = await invite(accountId, personId)
        const tries = await parallel(10, (at) =>
          replica(at).accept(secret, `p${round}-${at}@example.com`, ''),
        )
        expect(tries.filter((each) => each !== undefined)).toHaveLength(1)
        expect(await parts.people.members(accountId)).toHaveLength(2)
        expect(await parts.links.find(secret)).toBeUndefined()
      }
    })

    it('signs no person in as another who chose the same address at the same time', async () => {
      for (let round = 0; round < 10; round++) {
        const { accountId, personId } = await ownerOf(`owner${round}@example.com`)
        const secrets = [await invite(accountId, personId), await invite(accountId, personId)]
        const email = `same${round}@example.com`
        const tries = await parallel(2, (at) => replica(at).accept(secrets[at]!, email, ''))
        expect(tries.filter((each) => each !== undefined)).toHaveLength(1)
        // The other link can still be used.
        const open = await Promise.all(secrets.map((secret) => parts.links.find(secret)))
        expect(open.filter((each) => each !== undefined)).toHaveLength(1)
      }
    })

    it('for the first owner makes one owner of ten that use it, and only a new one', async () => {
      const secret = (await parts.links.createSetup(60))!
      await expect(parts.accounts.create('eve@example.com')).resolves.toBeDefined()
      // From now on it is for the account that the operator made.
      expect(await parts.links.accept(secret, 'mallory@example.com', '')).toBeUndefined()
      const tries = await parallel(10, (at) => replica(at).accept(secret, 'eve@example.com', ''))
      expect(tries.filter((each) => each !== undefined)).toHaveLength(1)
      expect(await parts.accounts.list()).toHaveLength(1)
    })

    it('for the first owner ends with the first credential, and with the next start', async () => {
      const first = (await parts.links.createSetup(60))!
      const second = (await parts.links.createSetup(60))!
      expect(await parts.links.find(first)).toBeUndefined()
      const { personId } = (await parts.links.accept(second, 'ada@example.com', ''))!
      // Ada went away before a way to sign in was set up: the next link is for Ada.
      const third = (await parts.links.createSetup(60))!
      expect(await parts.links.find(third)).toMatchObject({ email: 'ada@example.com' })
      expect(await parts.links.accept(third, 'eve@example.com', '')).toBeUndefined()
      await parts.people.setPassword(personId, 'hash', '')
      expect(await parts.links.find(third)).toBeUndefined()
      expect(await parts.links.accept(third, 'ada@example.com', '')).toBeUndefined()
      expect(await parts.links.createSetup(60)).toBeUndefined()
    })

    it('that resets a sign-in ends when its person sets a new password', async () => {
      const { personId } = await ownerOf('ada@example.com')
      const other = await ownerOf('bob@example.com')
      const make = (email: string) =>
        parts.links.create({ purpose: 'reset', accountId: '', role: 'member', email, madeBy: '' }, 60)
      const [own, foreign] = [await make('ada@example.com'), await make('bob@example.com')]
      await parts.people.setPassword(personId, 'hash', '')
      expect(await parts.links.find(own)).toBeUndefined()
      expect(await parts.links.accept(foreign, 'bob@example.com', '')).toEqual({
        personId: other.personId,
        accountId: '',
      })
    })

    it.each(['removed', 'no owner any more'])('ends when its maker is %s', async (how) => {
      const { accountId, personId } = await ownerOf('ada@example.com')
      const bob = (await parts.links.accept(
        await invite(accountId, personId, 'owner'),
        'bob@example.com',
        '',
      ))!
      const secret = await invite(accountId, bob.personId)
      expect(await parts.links.list(accountId)).toMatchObject([{ madeBy: bob.personId }])
      if (how === 'removed') await parts.people.remove(accountId, bob.personId)
      else await parts.people.setRole(accountId, bob.personId, 'member')
      expect(await parts.links.accept(secret, 'carol@example.com', '')).toBeUndefined()
      expect(await parts.links.list(accountId)).toEqual([])
      // It does not come back with its maker.
      if (how !== 'removed') await parts.people.setRole(accountId, bob.personId, 'owner')
      expect(await parts.links.find(secret)).toBeUndefined()
    })

    it('can be revoked by its account, and by no other', async () => {
      const { accountId, personId } = await ownerOf('ada@example.com')
      const other = await ownerOf('eve@example.com')
      const secret = await invite(accountId, personId)
      const { linkId } = (await parts.links.list(accountId))[0]!
      expect(await parts.links.revoke(linkId, other.accountId)).toBe(false)
      expect(await parts.links.revoke(linkId, accountId)).toBe(true)
      expect(await parts.links.accept(secret, 'carol@example.com', '')).toBeUndefined()
    })

    it('is refused beyond the limits of the account, with what to do', async () => {
      const { accountId, personId } = await ownerOf('ada@example.com')
      const secrets = await parallel(maxMembers, () => invite(accountId, personId))
      const outcomes = []
      for (const [at, secret] of secrets.entries())
        outcomes.push(
          await parts.links.accept(secret, `p${at}@example.com`, '').then(
            () => 'in',
            ({ reason }) => reason,
          ),
        )
      expect(outcomes).toEqual(['in', 'in', 'in', 'limit_exceeded'])
      for (let made = 1; made < maxLinks; made++) await invite(accountId, personId)
      await expect(invite(accountId, personId)).rejects.toMatchObject({ reason: 'limit_exceeded' })
    })

    it('two owners who demote each other, or remove each other, leave an owner, in 20 rounds', async () => {
      for (let round = 0; round < 20; round++) {
        const { accountId, personId } = await ownerOf(`owner${round}@example.com`)
        const other = (await parts.links.accept(
          await invite(accountId, personId, 'owner'),
          `other${round}@example.com`,
          '',
        ))!
        const changes = await Promise.allSettled(
          [personId, other.personId].map((each) =>
            round % 2
              ? parts.people.setRole(accountId, each, 'member')
              : parts.people.remove(accountId, each),
          ),
        )
        expect(changes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
        expect((await parts.people.members(accountId)).filter(({ role }) => role === 'owner')).toHaveLength(1)
      }
    })

    it('an account that the operator creates does not go to a person who set up its address elsewhere', async () => {
      const { accountId, personId } = await ownerOf('ada@example.com')
      await parts.links.accept(await invite(accountId, personId), 'victim@example.com', '')
      await expect(parts.accounts.create('victim@example.com')).rejects.toMatchObject({
        reason: 'conflict',
        hint: expect.stringContaining('--known-person'),
      })
      expect(await parts.accounts.list()).toHaveLength(1)
      const { accountId: own } = await parts.accounts.create('victim@example.com', { isKnownPerson: true })
      expect(await parts.people.members(own)).toMatchObject([{ email: 'victim@example.com', role: 'owner' }])
      expect(await parts.store.run(sql`SELECT person_id FROM people`)).toHaveLength(2)
    })
  },
  migrations,
)
