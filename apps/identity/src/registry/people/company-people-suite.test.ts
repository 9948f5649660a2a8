/** People of companies on every store: what a company gives ends with it, also when both happen at the same moment. */
import { openSql } from '@selvedge/service-kit/sql'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock, createMemoryLog } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeOnStores } from '../../../../../tests/harness/databases.ts'
import { noFolding } from '../../../../../tests/harness/grants.ts'
import { openChanges } from '../../storage/changes/changes.ts'
import { migrations } from '../../storage/schema.ts'
import { createSeal } from '../../storage/secrets/seal.ts'
import { openRevocations } from '../revocation/revocations.ts'
import { createAccounts } from './accounts.ts'
import { type Company, createCompanies } from './companies.ts'
import { createCompanyPeople } from './company-people.ts'
import { createLinks } from './links.ts'
import { createPeople } from './people.ts'

const rounds = 8

describeOnStores(
  'people of a company on %s',
  (makeDatabase) => {
    const clock = createFakeClock()
    let store: SqlStore
    let stop: () => Promise<void>
    let parts: Awaited<ReturnType<typeof open>>
    let accountId: string
    let company: Company

    async function open() {
      const changes = await openChanges({
        ...{ store, clock, system: clock, log: createMemoryLog(), maxAgeMs: 60_000 },
      })
      stop = changes.stop
      const revocations = await openRevocations(store, clock, changes, 3600, noFolding)
      const people = createPeople(store, changes, revocations, clock)
      const shared = { store, clock, changes, people, seal: createSeal([Buffer.alloc(32, 9)]) }
      return {
        people,
        accounts: createAccounts(store, clock),
        links: createLinks(store, clock, 100),
        companies: createCompanies({ ...shared, issuer: () => 'https://own.example' }),
        companyPeople: createCompanyPeople({ ...shared, maxMembers: 100 }),
      }
    }

    const addCompany = () =>
      parts.companies.create({
        ...{ accountId, domain: 'corp.example', issuer: 'https://login.corp.example', clientId: 'selvedge' },
        ...{ clientAuth: 'none', clientSecret: null, rules: [], allowsPrivate: false },
      })

    beforeEach(async () => {
      store = await openSql(await makeDatabase(), migrations)
      parts = await open()
      ;({ accountId } = await parts.accounts.create('ada@example.com'))
      company = await addCompany()
    })
    afterEach(async () => {
      await stop()
      await store.close()
    })

    /** Outcomes do not matter, but what is stored after all of them. */
    const atOnce = (...all: readonly Promise<unknown>[]) => Promise.allSettled(all)
    const roleOf = async (personId: string) =>
      (await parts.people.members(accountId)).find((each) => each.personId === personId)?.role

    async function localMember(email: string): Promise<string> {
      const invitation = { purpose: 'invitation', accountId, role: 'member', email: '', madeBy: '' } as const
      return (await parts.links.accept(await parts.links.create(invitation, 60), email, ''))!.personId
    }

    it('a removed company admits no person any more, also one that it knows', async () => {
      const { companyPeople, people } = parts
      const personId = await companyPeople.admit(company, 'grace', 'member', undefined)
      const other = await parts.accounts.create('lin@example.com')
      await store.run(sql`INSERT INTO members VALUES (${other.accountId}, ${personId}, 'member', 0)`)
      await store.run(sql`UPDATE companies SET removed_at = ${clock.now()}`)
      await people.remove(accountId, personId)
      await expect(companyPeople.admit(company, 'grace', 'owner', undefined)).rejects.toMatchObject({
        reason: 'conflict',
      })
      expect(await people.members(accountId)).toHaveLength(1)
    })

    it('a removal at the moment of a sign-in leaves no person, and no role', async () => {
      for (let round = 0; round < rounds; round++) {
        const { companyPeople, companies } = parts
        const linked = await localMember(`bob${round}@example.com`)
        await companyPeople.linkPerson(company, 'bob', linked)
        await companyPeople.admit(company, 'grace', 'member', undefined)
        await atOnce(
          companyPeople.admit(company, 'bob', 'owner', undefined),
          companyPeople.admit(company, 'grace', 'owner', undefined),
          companies.remove(company),
          companyPeople.admit(company, 'new', 'owner', undefined),
        )
        await companies.task.run(clock.now())
        expect(await roleOf(linked)).toBe('member')
        expect(await parts.people.members(accountId)).toHaveLength(2 + round)
        company = await addCompany()
      }
    })

    it('"Unlink" at the moment of a sign-in leaves no role of a rule', async () => {
      for (let round = 0; round < rounds; round++) {
        const { companyPeople } = parts
        const subject = `bob${round}`
        const linked = await localMember(`${subject}@example.com`)
        await companyPeople.linkPerson(company, subject, linked)
        await atOnce(
          companyPeople.admit(company, subject, 'owner', undefined),
          companyPeople.unlinkPerson(company.companyId, linked),
          companyPeople.admit(company, subject, 'owner', undefined),
        )
        const isLinked = (await companyPeople.linksOf(linked)).has(company.companyId)
        if (!isLinked) expect(await roleOf(linked)).toBe('member')
      }
    })

    it('two owners by themselves cannot both lose the role to rules at the same moment', async () => {
      for (let round = 0; round < rounds; round++) {
        const { companyPeople, people } = parts
        const [ada] = await people.members(accountId)
        const bob = await localMember(`bob${round}@example.com`)
        await people.setRole(accountId, bob, 'owner')
        await companyPeople.linkPerson(company, `ada${round}`, ada!.personId)
        await companyPeople.linkPerson(company, `bob${round}`, bob)
        await atOnce(
          companyPeople.admit(company, `ada${round}`, 'member', undefined),
          companyPeople.admit(company, `bob${round}`, 'member', undefined),
        )
        const owners = (await people.members(accountId)).filter(({ role }) => role === 'owner')
        expect(owners).toHaveLength(1)
        await companyPeople.unlinkPerson(company.companyId, ada!.personId)
        await companyPeople.unlinkPerson(company.companyId, bob)
        if (owners[0]!.personId === bob) await people.setRole(accountId, ada!.personId, 'owner')
        await people.remove(accountId, bob)
      }
    })
  },
  migrations,
)
