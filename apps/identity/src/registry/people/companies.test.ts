/** Companies with a provider of their own: what may be one, which account has it, and what its removal ends. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPeopleStore, type PeopleStore } from '../../../../../tests/harness/people.ts'
import type { Companies, Company } from './companies.ts'

const clock = createFakeClock()
const start = clock.now()
let opened: PeopleStore
let companies: Companies

beforeEach(async () => {
  clock.set(start)
  opened = await openPeopleStore(clock)
  companies = opened.companies
  await opened.addAccount('a')
  await opened.addAccount('b')
  await opened.join('a', 'ada', 'owner')
})
afterEach(() => opened.close())

const run = (text: string) => opened.store.run({ sql: text, values: [] })

type NewCompany = Parameters<Companies['create']>[0]

const corp: NewCompany = {
  ...{ accountId: 'a', domain: 'corp.example', issuer: 'https://login.corp.example', clientId: 'selvedge' },
  ...{ clientAuth: 'client_secret', clientSecret: 'secret words', allowsPrivate: false },
  rules: [{ claim: 'groups', value: 'staff', role: 'member' }],
}

const create = (more: Partial<NewCompany> = {}) => companies.create({ ...corp, ...more })

describe('a company', () => {
  it('is stored as it was made, with its secret sealed', async () => {
    const company = await create()
    const { clientSecret, ...stated } = corp
    expect(company).toEqual({
      ...stated,
      ...{ companyId: expect.any(String), isRequired: false, createdAt: '2026-01-01T00:00:00.000Z' },
    })
    expect(await companies.byDomain('corp.example')).toEqual(company)
    expect(await companies.byId(company.companyId)).toEqual(company)
    expect(await companies.secretOf(company.companyId)).toBe(clientSecret)
    const [row] = await run('SELECT client_secret FROM companies')
    expect(row!.client_secret).not.toContain(clientSecret)
    expect(await companies.byDomain('other.example')).toBeUndefined()
    expect(await companies.byId('other')).toBeUndefined()
    expect(await companies.secretOf('other')).toBe('')
  })

  it('without a secret has an empty text in the database', async () => {
    await create({ clientAuth: 'none', clientSecret: null, allowsPrivate: true })
    expect(await run('SELECT client_secret, allows_private FROM companies')).toEqual([
      { client_secret: '', allows_private: 1 },
    ])
    expect((await companies.byDomain('corp.example'))!.allowsPrivate).toBe(true)
  })

  it('has a sealed secret that opens for no other company', async () => {
    const [one, other] = [await create(), await create({ domain: 'other.example' })]
    await run(
      `UPDATE companies SET client_secret = (SELECT client_secret FROM companies WHERE company_id = '${one.companyId}')`,
    )
    expect(await companies.secretOf(one.companyId)).toBe('secret words')
    await expect(companies.secretOf(other.companyId)).rejects.toThrow()
  })

  it('has a domain of its own', async () => {
    await create()
    await expect(create({ accountId: 'b' })).rejects.toMatchObject({
      reason: 'already_exists',
      message: 'there is a company with the domain corp.example already',
      hint: 'Remove it first: selvedge admin company remove corp.example',
    })
  })

  it('is listed by domain with the number of its people, for its account or for the operator', async () => {
    const company = await create()
    await create({ domain: 'acme.example' })
    await create({ domain: 'beta.example', accountId: 'b' })
    await opened.companyPeople.linkPerson(company, 'ada', 'ada')
    const listed = async (accountId?: string) =>
      (await companies.list(accountId)).map(({ domain, people }) => `${domain} ${people}`)
    expect(await listed('a')).toEqual(['acme.example 0', 'corp.example 1'])
    expect(await listed('b')).toEqual(['beta.example 0'])
    expect(await listed()).toEqual(['acme.example 0', 'beta.example 0', 'corp.example 1'])
  })

  it.each<[refused: Partial<NewCompany>, message: RegExp]>([
    [
      { domain: 'Corp.example' },
      /^the domain "Corp.example" cannot be of a company: it is not a domain name/,
    ],
    [{ issuer: 'login.corp.example' }, /^the issuer "login.corp.example" cannot be trusted: /],
    [{ issuer: 'http://10.0.0.1' }, /^the issuer "http:\/\/10.0.0.1" does not begin with https:/],
    [{ issuer: 'https://own.example' }, /is this service itself$/],
    [{ clientId: 'https://own.example' }, /is this service itself$/],
    [{ clientId: '' }, /printable ASCII$/],
    [{ clientId: 'two words' }, /printable ASCII$/],
    [{ clientId: 'umlaut-\u00fc' }, /printable ASCII$/],
    [{ clientId: 'line\n' }, /printable ASCII$/],
    [{ clientSecret: null }, /^a client secret belongs to the authentication "client_secret"/],
    [{ clientAuth: 'none' }, /^a client secret belongs to the authentication "client_secret"/],
    [{ clientAuth: 'private_key_jwt' }, /^a client secret belongs to the authentication "client_secret"/],
    [{ rules: [{ claim: 'groups', value: '*', role: 'owner' }] }, /groups=\*/],
  ])('with %j is refused', async (refused, message) => {
    await expect(create(refused)).rejects.toMatchObject({
      reason: 'invalid_params',
      message: expect.stringMatching(message),
    })
    expect(await companies.list()).toEqual([])
  })

  it.each<Partial<NewCompany>>([
    { issuer: 'http://10.0.0.1', allowsPrivate: true },
    { clientId: '!~' },
    { clientAuth: 'private_key_jwt', clientSecret: null },
  ])('with %j is accepted', async (accepted) => {
    expect(await create(accepted)).toMatchObject({ domain: 'corp.example' })
  })
})

describe('a change of a company', () => {
  it('is made by its own account, and noted for all sessions', async () => {
    const company = await create()
    const rules = [{ claim: 'groups', value: 'admins', role: 'owner' }] as const
    await companies.update({ ...company, rules, isRequired: true })
    expect(opened.noted).toEqual([''])
    expect(await companies.byId(company.companyId)).toEqual({ ...company, rules, isRequired: true })
    await companies.update({ ...company, rules, isRequired: false })
    expect(await companies.byId(company.companyId)).toMatchObject({ isRequired: false })
    const missing = { reason: 'not_found', message: 'the account has no such company' }
    await expect(companies.update({ ...company, accountId: 'b', rules: [] })).rejects.toMatchObject(missing)
    await expect(companies.update({ ...company, companyId: 'other' })).rejects.toMatchObject(missing)
    expect(await companies.byId(company.companyId)).toMatchObject({ rules })
  })

  it('with a rule that fits every value is refused', async () => {
    const company = await create()
    const rules = [{ claim: 'groups', value: '*', role: 'owner' }] as const
    await expect(companies.update({ ...company, rules })).rejects.toMatchObject({ reason: 'invalid_params' })
    expect(await companies.byId(company.companyId)).toEqual(company)
  })

  it('that was removed meanwhile finds nothing', async () => {
    const company = await create()
    await run('UPDATE companies SET removed_at = 1')
    await expect(companies.update(company)).rejects.toMatchObject({ reason: 'not_found' })
  })
})

describe('the removal of a company', () => {
  const admit = (company: Company, subject: string, role: 'member' | 'owner' = 'member') =>
    opened.companyPeople.admit(company, subject, role, undefined)
  const rolesOf = async () =>
    Object.fromEntries((await opened.people.members('a')).map(({ personId, role }) => [personId, role]))

  it('ends what it gave: memberships, and roles of local members; local owners stay', async () => {
    const company = await create()
    const given = await admit(company, 'grace')
    await opened.join('a', 'bob')
    await opened.companyPeople.linkPerson(company, 'bob', 'bob')
    await admit(company, 'bob', 'owner')
    await opened.companyPeople.linkPerson(company, 'ada', 'ada')
    expect(await rolesOf()).toEqual({ ada: 'owner', bob: 'owner', [given]: 'member' })
    await companies.remove(company)
    expect(await rolesOf()).toEqual({ ada: 'owner', bob: 'member' })
    expect(await run('SELECT 1 AS one FROM companies')).toEqual([])
    expect(await run('SELECT 1 AS one FROM company_people')).toEqual([])
    expect(opened.noted).toContain('')
  })

  it('ends its sessions, and no others, with those of people who stay', async () => {
    const [company, other] = [await create(), await create({ domain: 'other.example' })]
    for (const each of [company, other]) await opened.companyPeople.linkPerson(each, 'ada', 'ada')
    const signIn = (own?: Company) =>
      opened.sessions.create({
        ...{ personId: 'ada', accountId: 'a', method: 'password', address: '', userAgent: '', jkt: '' },
        company: own && { companyId: own.companyId, accountId: 'a', authTime: 0 },
      })
    for (const each of [company, other, undefined]) await signIn(each)
    await companies.remove(company)
    const left = await opened.sessions.list('ada')
    expect(left.map(({ companyId }) => companyId).toSorted()).toEqual(['', other.companyId].toSorted())
    expect(await companies.list()).toMatchObject([{ domain: 'other.example', people: 1 }])
  })

  it('frees its domain at once, also while its people are not removed yet', async () => {
    const company = await create()
    await admit(company, 'grace')
    await run("UPDATE companies SET removed_at = 1, client_secret = ''")
    expect(await companies.byDomain('corp.example')).toBeUndefined()
    expect(await companies.byId(company.companyId)).toBeUndefined()
    expect(await companies.list()).toEqual([])
    await create()
  })

  it('that was interrupted is completed by its task, and a company that is there stays', async () => {
    const company = await create()
    await create({ domain: 'other.example' })
    const personId = await admit(company, 'grace')
    await run("UPDATE companies SET removed_at = 1 WHERE domain = 'corp.example'")
    // The person left the account before, and is in another one.
    await opened.join('b', personId)
    await opened.people.remove('a', personId)
    expect(companies.task.name).toBe('companies.removed_at')
    await companies.task.run(clock.now())
    expect((await run('SELECT domain FROM companies')).map(({ domain }) => domain)).toEqual(['other.example'])
  })

  it('that fails leaves the company to its task, which tries again', async () => {
    const company = await create()
    await admit(company, 'grace')
    await run('ALTER TABLE known_browsers RENAME TO elsewhere')
    await expect(companies.remove(company)).rejects.toThrow(/known_browsers/)
    expect(await run('SELECT 1 AS one FROM company_people')).toHaveLength(1)
    await run('ALTER TABLE elsewhere RENAME TO known_browsers')
    await companies.task.run(clock.now())
    expect(await run('SELECT 1 AS one FROM companies')).toEqual([])
  })
})
