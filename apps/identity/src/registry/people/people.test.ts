/** Which accounts a person and a session reach, and what a new password ends. */
import { sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPeopleStore, type PeopleStore } from '../../../../../tests/harness/people.ts'
import type { Company } from './companies.ts'
import { reachQuery } from './people.ts'

const clock = createFakeClock()
const start = clock.now()
let opened: PeopleStore

beforeEach(async () => {
  clock.set(start)
  opened = await openPeopleStore(clock)
  await opened.addAccount('a')
  await opened.join('a', 'ada', 'owner')
})
afterEach(() => opened.close())

const run = (text: string, ...values: (string | number)[]) => opened.store.run({ sql: text, values })

const signIn = (personId: string, accountId: string, company?: Company) =>
  opened.sessions.create({
    ...{ personId, accountId, method: 'password', address: '', userAgent: '', jkt: 'key' },
    company: company && { companyId: company.companyId, accountId, authTime: 0 },
  })

const addCompany = (accountId: string, domain: string) =>
  opened.companies.create({
    ...{ accountId, domain, issuer: `https://login.${domain}`, clientId: 'selvedge' },
    ...{ clientAuth: 'none', clientSecret: null, rules: [], allowsPrivate: false },
  })

describe('a person', () => {
  it('is found by ID and by address', async () => {
    const ada = { personId: 'ada', email: 'ada@example.com', password: '' }
    await opened.addPerson('bob', 'hash')
    expect(await opened.people.byId('ada')).toEqual(ada)
    expect(await opened.people.byEmail('ada@example.com')).toEqual(ada)
    expect(await opened.people.byId('bob')).toMatchObject({ password: 'hash' })
    expect(await opened.people.byId('eve')).toBeUndefined()
    expect(await opened.people.byEmail('eve@example.com')).toBeUndefined()
  })

  it('is in accounts in the order of joining them', async () => {
    clock.advance(1000)
    await opened.addAccount('b')
    await opened.join('b', 'ada')
    await opened.join('b', 'bob')
    expect(await opened.people.memberships('ada')).toEqual([
      { accountId: 'a', name: 'a@example.com', role: 'owner' },
      { accountId: 'b', name: 'b@example.com', role: 'member' },
    ])
    expect(await opened.people.members('b')).toEqual([
      { personId: 'ada', email: 'ada@example.com', role: 'member', joinedAt: '2026-01-01T00:00:01.000Z' },
      { personId: 'bob', email: 'bob@example.com', role: 'member', joinedAt: '2026-01-01T00:00:01.000Z' },
    ])
    expect(await opened.people.memberships('eve')).toEqual([])
  })
})

describe('a new password', () => {
  it('ends the other sessions of the person, and no session of another person', async () => {
    await opened.join('a', 'bob')
    const [own, other, bobs] = [await signIn('ada', 'a'), await signIn('ada', 'a'), await signIn('bob', 'a')]
    const [first] = await run("SELECT session_id FROM sessions WHERE person_id = 'ada' ORDER BY rowid")
    await opened.people.setPassword('ada', 'hash', first!.session_id as string)
    expect(await opened.sessions.find(own!, 'key')).toMatchObject({ isProven: true })
    expect(await opened.sessions.find(other!, 'key')).toBeUndefined()
    expect(await opened.sessions.find(bobs!, 'key')).toMatchObject({ isProven: true })
    expect((await opened.people.byId('ada'))!.password).toBe('hash')
    expect((await opened.people.byId('bob'))!.password).toBe('')
    expect(opened.noted).toEqual(['ada'])
  })

  it('ends the links that were to let the person in, and no other links', async () => {
    await opened.join('a', 'bob')
    const link = (purpose: 'reset' | 'invitation', email: string) =>
      opened.links.create({ purpose, accountId: 'a', role: 'member', email, madeBy: '' }, 60)
    await link('reset', 'ada@example.com')
    await link('reset', 'bob@example.com')
    await link('invitation', 'ada@example.com')
    await opened.people.setPassword('ada', 'hash', '')
    const left = await opened.links.list()
    expect(left.map(({ purpose, email }) => `${purpose} ${email}`).toSorted()).toEqual([
      'invitation ada@example.com',
      'reset bob@example.com',
    ])
  })
})

describe('a sign-in method', () => {
  const passkey = (personId: string) =>
    run("INSERT INTO passkeys VALUES ('credential', ?, 'n', '', 0, '', 0, NULL)", personId)

  it('is there as soon as any person has a password or a passkey', async () => {
    expect(await opened.people.anyCredential()).toBe(false)
    await passkey('ada')
    expect(await opened.people.anyCredential()).toBe(true)
    await run('DELETE FROM passkeys')
    expect(await opened.people.anyCredential()).toBe(false)
    await opened.people.setPassword('ada', 'hash', '')
    expect(await opened.people.anyCredential()).toBe(true)
  })

  it('of its own has a person with a credential, or with a membership that no company gave', async () => {
    const company = await addCompany('a', 'corp.example')
    const personId = await opened.companyPeople.admit(company, 'grace', 'member', undefined)
    const has = () => opened.people.hasOwnSignIn(personId)
    expect(await has()).toBe(false)
    expect(await opened.people.hasOwnSignIn('ada')).toBe(true)
    expect(await opened.people.hasOwnSignIn('eve')).toBe(false)
    await passkey(personId)
    expect(await has()).toBe(true)
    await run('DELETE FROM passkeys')
    await run("INSERT INTO recovery_codes VALUES ('hash', ?, NULL)", personId)
    expect(await has()).toBe(true)
    await run('DELETE FROM recovery_codes')
    expect(await has()).toBe(false)
    await opened.people.setPassword(personId, 'hash', '')
    expect(await has()).toBe(true)
    await run("UPDATE people SET password = ''")
    await opened.addAccount('b')
    await opened.join('b', personId)
    expect(await has()).toBe(true)
  })
})

describe('a session', () => {
  let company: Company

  beforeEach(async () => {
    company = await addCompany('a', 'corp.example')
    await opened.addAccount('b')
  })

  /** Accounts that the person reaches; the same by the statements that are read together with a session. */
  async function reach(personId: string, from: Company | undefined): Promise<string[]> {
    const { accountId: own } = (await opened.people.memberships(personId))[0]!
    await signIn(personId, from?.accountId ?? own, from)
    const [session] = await run('SELECT session_id FROM sessions ORDER BY rowid DESC LIMIT 1')
    const where = sql`sessions.session_id = ${session!.session_id!}`
    const [people, members] = await opened.store.transaction(reachQuery.statements(where, 'company'))
    const found = reachQuery.toReach(people!, members!)!
    expect(found.person.personId).toBe(personId)
    expect(found.memberships).toEqual(await opened.people.reach(personId, from?.companyId ?? ''))
    return found.memberships.map(({ accountId, role }) => `${accountId} ${role}`)
  }

  it('with an unknown company, and one without a person, reaches nothing', async () => {
    expect(await opened.people.reach('ada', undefined)).toEqual([])
    expect(reachQuery.toReach([], [])).toBeUndefined()
  })

  it('of a company reaches the account of the company, and a local one the others', async () => {
    const personId = await opened.companyPeople.admit(company, 'grace', 'owner', undefined)
    await opened.join('b', personId)
    expect(await reach(personId, company)).toEqual(['a owner'])
    expect(await reach(personId, undefined)).toEqual(['b member'])
    expect(await opened.people.reach(personId, 'another')).toEqual([])
    expect(await opened.people.reach('ada', company.companyId)).toEqual([])
    await run('UPDATE companies SET removed_at = 1')
    expect(await opened.people.reach(personId, company.companyId)).toEqual([])
  })

  it('that is local reaches an account that requires its company as a local owner only', async () => {
    await opened.join('a', 'bob')
    expect(await reach('bob', undefined)).toEqual(['a member'])
    await opened.companies.update({ ...company, isRequired: true })
    expect(await reach('bob', undefined)).toEqual([])
    expect(await reach('ada', undefined)).toEqual(['a owner'])
    await run('UPDATE companies SET removed_at = 1')
    expect(await reach('bob', undefined)).toEqual(['a member'])
  })

  it('of a local member reaches an account also after a company was linked to the person', async () => {
    await opened.companyPeople.linkPerson(company, 'ada', 'ada')
    expect(await reach('ada', undefined)).toEqual(['a owner'])
    expect(await reach('ada', company)).toEqual(['a owner'])
  })
})

describe('the maker of a token', () => {
  beforeEach(() =>
    run(
      "INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at) VALUES ('c', 'p', 'a', '', '', 1, 0)",
    ),
  )

  it('of a developer ID token is the person who created it, with the address of now', async () => {
    await run("INSERT INTO developer_tokens VALUES ('jti', 'a', 'c', 0, 9, NULL, 'ada', NULL)")
    expect(await opened.people.makerOf('jti')).toBe('ada@example.com')
    expect(await opened.people.makerOf('other')).toBeUndefined()
  })

  it.each([
    [
      'a sign-in',
      `INSERT INTO sign_ins (sid, client_id, account_id, person_id, email, node_id, origin, scope, audience, jkt, auth_time,
        created_at, expires_at, generation, rotations, last_used_at, described)
        VALUES ('sid', 'c', 'a', 'ada', 'then@example.com', '', '', '', '""', '', 0, 0, 9, 0, '', 0, '')`,
    ],
    [
      'a request of a terminal',
      `INSERT INTO device_requests (device_hash, user_code, client_id, scope, jkt, address, user_agent, created_at, expires_at, step,
        polled_at, too_fast, state, sid, account_id, person_id, email, auth_time)
        VALUES ('h', 'u', 'c', '', '', '', '', 0, 9, 5, 0, 0, '', 'sid', 'a', 'ada', 'then@example.com', 0)`,
    ],
    [
      'an authorization code',
      `INSERT INTO authorization_codes VALUES ('h', 'sid', 'c', '', '', '', '', '', '', '', 'a', 'ada', 'then@example.com', 0, 0, '', 9,
        NULL)`,
    ],
  ])('of %s is the person who began it', async (_, insert) => {
    await run(insert)
    expect(await opened.people.makerOf('sid')).toBe('then@example.com')
  })

  it('of a workload is its subject, and of a linked person the address', async () => {
    await run(
      `INSERT INTO project_issuers VALUES ('i', 'c', 'https://issuer.example', '[]', '[]', '', 'workload', '', 0, 0, 0, NULL)`,
    )
    await run("INSERT INTO federated_subjects VALUES ('one', 'i', 'a', 'repo:main', '', 0, 0, 0, 0)")
    await run("INSERT INTO federated_subjects VALUES ('two', 'i', 'a', 'of ada', 'ada', 3, 0, 0, 0)")
    expect(await opened.people.makerOf('one.0')).toBe('repo:main')
    expect(await opened.people.makerOf('two.3')).toBe('ada@example.com')
  })

  it('of a sign-in is its person until the sign-in is revoked', async () => {
    await run(`INSERT INTO sign_ins (sid, client_id, account_id, person_id, email, node_id, origin, scope, audience, jkt, auth_time,
        created_at, expires_at, generation, rotations, last_used_at, described)
        VALUES ('sid', 'c', 'a', 'ada', '', '', '', '', '""', '', 0, 0, 9, 0, '', 0, '')`)
    expect(await opened.people.ofSignIn('sid')).toEqual(await opened.people.byId('ada'))
    expect(await opened.people.ofSignIn('other')).toBeUndefined()
    await run('UPDATE sign_ins SET revoked_at = 1')
    expect(await opened.people.ofSignIn('sid')).toBeUndefined()
  })
})
