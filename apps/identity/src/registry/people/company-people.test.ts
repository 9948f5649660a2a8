/** Who a company lets into its account, as whom and with which role. Races are in the suite. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { maxMembers, openPeopleStore, type PeopleStore } from '../../../../../tests/harness/people.ts'
import type { Company } from './companies.ts'
import type { CompanyPeople } from './company-people.ts'

const clock = createFakeClock()
const start = clock.now()
let opened: PeopleStore
let companyPeople: CompanyPeople
let company: Company

const addCompany = (accountId: string, domain: string) =>
  opened.companies.create({
    ...{ accountId, domain, issuer: `https://login.${domain}`, clientId: 'selvedge' },
    ...{ clientAuth: 'none', clientSecret: null, rules: [], allowsPrivate: false },
  })

beforeEach(async () => {
  clock.set(start)
  opened = await openPeopleStore(clock)
  companyPeople = opened.companyPeople
  await opened.addAccount('a')
  await opened.addAccount('b')
  await opened.join('a', 'ada', 'owner')
  company = await addCompany('a', 'corp.example')
})
afterEach(() => opened.close())

const run = (text: string) => opened.store.run({ sql: text, values: [] })
const rolesOf = async (accountId = 'a') =>
  Object.fromEntries((await opened.people.members(accountId)).map(({ personId, role }) => [personId, role]))
const signIn = (personId: string, from: Company | undefined) =>
  opened.sessions.create({
    ...{ personId, accountId: 'a', method: 'password', address: '', userAgent: '', jkt: '' },
    company: from && { companyId: from.companyId, accountId: 'a', authTime: 0 },
  })

describe('a person of a company', () => {
  it('is made with the address of the company, once for each subject', async () => {
    const personId = await companyPeople.admit(company, 'grace', 'member', 'grace@corp.example')
    expect(await opened.people.byId(personId)).toEqual({
      personId,
      email: 'grace@corp.example',
      password: '',
    })
    expect(await companyPeople.admit(company, 'grace', 'member', 'other@corp.example')).toBe(personId)
    const other = await companyPeople.admit(company, 'linus', 'member', 'linus@corp.example')
    expect(await rolesOf()).toEqual({ ada: 'owner', [personId]: 'member', [other]: 'member' })
    expect(await companyPeople.find(company.companyId, 'grace')).toBe(personId)
    expect(await companyPeople.find('other', 'grace')).toBeUndefined()
    expect(await companyPeople.find(company.companyId, 'Grace')).toBeUndefined()
    expect(await companyPeople.linksOf(personId)).toEqual(new Set([company.companyId]))
    expect(await companyPeople.linksOf('ada')).toEqual(new Set())
  })

  it('never becomes the person who has the address here, but gets a name that cannot be foreseen', async () => {
    const personId = await companyPeople.admit(company, 'grace', 'owner', 'ada@example.com')
    expect(personId).not.toBe('ada')
    expect((await opened.people.byId(personId))!.email).toMatch(/^ada\+[0-9a-f]{12}@corp\.example$/)
  })

  it('without an address, or with a long one, gets a short name at the company', async () => {
    const nameless = await companyPeople.admit(company, 'grace', 'member', undefined)
    expect((await opened.people.byId(nameless))!.email).toMatch(/^person\+[0-9a-f]{12}@corp\.example$/)
    const long = `${'x'.repeat(50)}@example.com`
    await opened.addPerson('x'.repeat(50))
    const cut = await companyPeople.admit(company, 'linus', 'member', long)
    expect((await opened.people.byId(cut))!.email).toMatch(/^x{40}\+[0-9a-f]{12}@corp\.example$/)
  })

  it('gets the role that the rules give now', async () => {
    const personId = await companyPeople.admit(company, 'grace', 'member', undefined)
    await companyPeople.admit(company, 'grace', 'owner', undefined)
    expect((await rolesOf())[personId]).toBe('owner')
    await companyPeople.admit(company, 'grace', 'member', undefined)
    expect((await rolesOf())[personId]).toBe('member')
    expect((await rolesOf()).ada).toBe('owner')
  })

  it('who is the last local owner stays an owner whatever the rules give', async () => {
    await companyPeople.linkPerson(company, 'ada', 'ada')
    expect(await companyPeople.admit(company, 'ada', 'member', undefined)).toBe('ada')
    expect(await rolesOf()).toEqual({ ada: 'owner' })
  })

  it('who was removed from the account is a member again with the next sign-in', async () => {
    await opened.join('b', 'bob')
    await companyPeople.linkPerson(company, 'bob', 'bob')
    expect(await rolesOf()).toEqual({ ada: 'owner' })
    clock.advance(5)
    expect(await companyPeople.admit(company, 'bob', 'member', undefined)).toBe('bob')
    expect(await rolesOf()).toEqual({ ada: 'owner', bob: 'member' })
    const [row] = await run('SELECT local_role, created_at, last_used_at FROM company_people')
    expect(row).toEqual({ local_role: '', created_at: start, last_used_at: start + 5 })
  })

  it('is refused by a full account with what to do, and one who is in it is not', async () => {
    const personId = await companyPeople.admit(company, 'grace', 'member', undefined)
    for (let at = 2; at < maxMembers; at++) await opened.join('a', `p${at}`)
    await expect(companyPeople.admit(company, 'linus', 'member', 'linus@corp.example')).rejects.toMatchObject(
      {
        reason: 'limit_exceeded',
        message: `the account has ${maxMembers} members already`,
        hint: 'Ask an owner to remove members who left, or the operator to raise limits.members.',
      },
    )
    expect(await opened.people.byEmail('linus@corp.example')).toBeUndefined()
    await opened.join('b', 'bob')
    await companyPeople.linkPerson(company, 'bob', 'bob')
    await expect(companyPeople.admit(company, 'bob', 'member', undefined)).rejects.toMatchObject({
      reason: 'limit_exceeded',
    })
    expect(await companyPeople.admit(company, 'grace', 'member', undefined)).toBe(personId)
  })

  it('is let in by no company that was removed', async () => {
    await run('UPDATE companies SET removed_at = 1')
    await expect(companyPeople.admit(company, 'grace', 'member', 'grace@corp.example')).rejects.toMatchObject(
      {
        reason: 'conflict',
        message: 'the company corp.example was removed at the same moment',
      },
    )
    expect(await rolesOf()).toEqual({ ada: 'owner' })
  })

  it('does not sign in while the role cannot be written', async () => {
    await companyPeople.admit(company, 'grace', 'member', undefined)
    await run('ALTER TABLE service_shares RENAME TO elsewhere')
    await expect(companyPeople.admit(company, 'grace', 'owner', undefined)).rejects.toThrow(/service_shares/)
  })
})

describe('a person that a company dismisses', () => {
  it('is no member any more, and an unknown subject changes nothing', async () => {
    const personId = await companyPeople.admit(company, 'grace', 'member', undefined)
    await companyPeople.dismiss(company, 'linus')
    expect(Object.keys(await rolesOf())).toHaveLength(2)
    expect(opened.noted).toEqual([])
    await companyPeople.dismiss(company, 'grace')
    expect(await rolesOf()).toEqual({ ada: 'owner' })
    expect(await opened.people.byId(personId)).toBeUndefined()
    expect(opened.noted).toContain(personId)
  })

  it('and is the last local owner stays, without sessions of this company', async () => {
    const other = await addCompany('a', 'other.example')
    for (const each of [company, other]) await companyPeople.linkPerson(each, 'ada', 'ada')
    for (const each of [company, other, undefined]) await signIn('ada', each)
    await companyPeople.dismiss(company, 'ada')
    expect(await rolesOf()).toEqual({ ada: 'owner' })
    const left = await opened.sessions.list('ada')
    expect(left.map(({ companyId }) => companyId).toSorted()).toEqual(['', other.companyId].toSorted())
  })
})

describe('a link to a company', () => {
  const localRole = async (personId: string) =>
    (await run(`SELECT local_role FROM company_people WHERE person_id = '${personId}'`))[0]?.local_role

  it('keeps what the person is in the account without the company', async () => {
    await opened.join('a', 'bob')
    await opened.join('b', 'eve')
    for (const each of ['ada', 'bob', 'eve']) await companyPeople.linkPerson(company, each, each)
    expect([await localRole('ada'), await localRole('bob'), await localRole('eve')]).toEqual([
      'owner',
      'member',
      '',
    ])
  })

  it('is made once: again for the same person, and for no other person or subject', async () => {
    await opened.join('a', 'bob')
    await companyPeople.linkPerson(company, 'one', 'bob')
    await companyPeople.linkPerson(company, 'one', 'bob')
    const refused = {
      reason: 'conflict',
      message: 'this sign-in of the company, or your person, is linked to another one already',
    }
    await expect(companyPeople.linkPerson(company, 'one', 'ada')).rejects.toMatchObject(refused)
    await expect(companyPeople.linkPerson(company, 'two', 'bob')).rejects.toMatchObject(refused)
    expect(await companyPeople.find(company.companyId, 'one')).toBe('bob')
  })

  it('to a second company of a person who came from the first is no role of its own', async () => {
    const personId = await companyPeople.admit(company, 'grace', 'owner', undefined)
    const other = await addCompany('a', 'other.example')
    await companyPeople.linkPerson(other, 'grace', personId)
    const rows = await run(`SELECT local_role FROM company_people WHERE person_id = '${personId}'`)
    expect(rows).toEqual([{ local_role: '' }, { local_role: '' }])
  })

  it('is not made with a company that was removed', async () => {
    await run('UPDATE companies SET removed_at = 1')
    await expect(companyPeople.linkPerson(company, 'ada', 'ada')).rejects.toMatchObject({
      reason: 'conflict',
    })
  })

  it('ends for a local person, with the sessions and the role that came from it', async () => {
    await opened.join('a', 'bob')
    await companyPeople.linkPerson(company, 'bob', 'bob')
    await companyPeople.admit(company, 'bob', 'owner', undefined)
    await signIn('bob', company)
    await signIn('bob', undefined)
    await companyPeople.unlinkPerson(company.companyId, 'bob')
    expect((await rolesOf()).bob).toBe('member')
    expect(await companyPeople.linksOf('bob')).toEqual(new Set())
    expect((await opened.sessions.list('bob')).map(({ companyId }) => companyId)).toEqual([''])
    expect(opened.noted).toContain('bob')
  })

  it('of an owner without the company ends, and the owner stays one', async () => {
    await companyPeople.linkPerson(company, 'ada', 'ada')
    await companyPeople.unlinkPerson(company.companyId, 'ada')
    expect(await rolesOf()).toEqual({ ada: 'owner' })
    expect(await companyPeople.linksOf('ada')).toEqual(new Set())
  })

  it('stays while the membership comes from the company alone', async () => {
    const personId = await companyPeople.admit(company, 'grace', 'member', undefined)
    await expect(companyPeople.unlinkPerson(company.companyId, personId)).rejects.toMatchObject({
      reason: 'conflict',
      message: 'you are in the account by the rules of the company',
      hint: 'Ask an owner to remove you from the account.',
    })
    await expect(companyPeople.unlinkPerson(company.companyId, 'ada')).rejects.toMatchObject({
      reason: 'not_found',
      message: 'you are not linked to this company',
    })
    expect(Object.keys(await rolesOf())).toHaveLength(2)
  })
})
