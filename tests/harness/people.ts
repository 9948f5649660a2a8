/** What the unit tests of people and companies at the identity service share. */
import type { SteadyClock } from '@selvedge/service-kit/clock'
import { sql } from '@selvedge/service-kit/store'
import { createSessions } from '../../apps/identity/src/registry/credentials/sessions.ts'
import { createAccounts } from '../../apps/identity/src/registry/people/accounts.ts'
import { createCompanies } from '../../apps/identity/src/registry/people/companies.ts'
import { createCompanyPeople } from '../../apps/identity/src/registry/people/company-people.ts'
import { createLinks } from '../../apps/identity/src/registry/people/links.ts'
import { createPeople, type Role, reachQuery } from '../../apps/identity/src/registry/people/people.ts'
import { createSeal } from '../../apps/identity/src/storage/secrets/seal.ts'
import { openGrantStore } from './grants.ts'

/** Members of one account. */
export const maxMembers = 5

/** A database in memory with the people of accounts, and what other replicas would learn of their changes. */
export async function openPeopleStore(clock: SteadyClock) {
  const grants = await openGrantStore(clock)
  const { store, changes, revocations } = grants
  const people = createPeople(store, changes, revocations, clock)
  const shared = { store, clock, changes, people, seal: createSeal([Buffer.alloc(32, 9)]) }
  const noted: string[] = []
  changes.onChange('person', (subject) => void noted.push(subject))
  const addPerson = async (personId: string, password = '') => {
    await store.run(
      sql`INSERT INTO people VALUES (${personId}, ${`${personId}@example.com`}, ${password}, ${clock.now()})`,
    )
  }
  return {
    ...grants,
    people,
    accounts: createAccounts(store, clock),
    links: createLinks(store, clock, maxMembers),
    companies: createCompanies({ ...shared, issuer: () => 'https://own.example' }),
    companyPeople: createCompanyPeople({ ...shared, maxMembers }),
    sessions: createSessions(store, clock, changes, reachQuery),
    /** Person IDs of the changes that were noted, the oldest first. */
    noted,
    addPerson,
    /** Adds an account without people. */
    addAccount: (accountId: string) =>
      store.run(
        sql`INSERT INTO accounts VALUES (${accountId}, ${`${accountId}@example.com`}, ${clock.now()})`,
      ),
    /** Adds a person, unless one has this ID, as a member of an account. */
    async join(accountId: string, personId: string, role: Role = 'member') {
      const [found] = await store.run(sql`SELECT 1 AS found FROM people WHERE person_id = ${personId}`)
      if (!found) await addPerson(personId)
      await store.run(sql`INSERT INTO members VALUES (${accountId}, ${personId}, ${role}, ${clock.now()})`)
    },
  }
}

export type PeopleStore = Awaited<ReturnType<typeof openPeopleStore>>
