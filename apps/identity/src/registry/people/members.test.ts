/** What ends with a role and with a membership, and what must stay. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPeopleStore, type PeopleStore } from '../../../../../tests/harness/people.ts'

const clock = createFakeClock()
const start = clock.now()
let opened: PeopleStore

beforeEach(async () => {
  clock.set(start)
  opened = await openPeopleStore(clock)
  await opened.addAccount('a')
  await opened.addAccount('b')
  await opened.join('a', 'ada', 'owner')
  await run(
    "INSERT INTO projects (client_id, name, account_id, scopes, resources, active, created_at) VALUES ('c', 'p', 'a', '', '', 1, 0)",
  )
  await run(
    `INSERT INTO nodes (node_id, name, account_id, hmac_node_key, hmac_cloud_key, hmac_secret, enrolled_at, last_seen_at)
      VALUES ('n', 'n', 'a', '', '', '', 0, 0)`,
  )
})
afterEach(() => opened.close())

const run = (text: string, ...values: (string | number)[]) => opened.store.run({ sql: text, values })

const rolesOf = async (accountId: string) =>
  Object.fromEntries((await opened.people.members(accountId)).map(({ personId, role }) => [personId, role]))

const isRevoked = (jti: string) => opened.revocations.reasonFor({ jti, iat: 0 }) !== undefined

const link = (accountId: string, madeBy: string) =>
  opened.links.create({ purpose: 'invitation', accountId, role: 'member', email: '', madeBy }, 60)

const share = (shareId: string, accountId: string, madeBy: string, personId: string) =>
  run(
    `INSERT INTO service_shares VALUES (?, ?, 'n', 0, 'c', 's', ?, '', ?, 0, ${clock.now() + 1e9}, NULL)`,
    ...[shareId, accountId, personId, madeBy],
  )

const lastOwner = {
  reason: 'conflict',
  message: 'this is the last owner of the account',
  hint: 'Make another person an owner first; an owner by the rules of a company does not count.',
}
const noMember = { reason: 'not_found', message: 'the account has no such member' }

const addCompany = (accountId: string, domain = 'corp.example') =>
  opened.companies.create({
    ...{ accountId, domain, issuer: `https://login.${domain}`, clientId: 'selvedge' },
    ...{ clientAuth: 'none', clientSecret: null, rules: [], allowsPrivate: false },
  })

describe('a role', () => {
  it('is changed for one member of one account', async () => {
    await opened.join('a', 'bob')
    await opened.join('a', 'eve')
    await opened.join('b', 'bob')
    await opened.people.setRole('a', 'bob', 'owner')
    expect(await rolesOf('a')).toEqual({ ada: 'owner', bob: 'owner', eve: 'member' })
    expect(await rolesOf('b')).toEqual({ bob: 'member' })
    await opened.people.setRole('a', 'ada', 'member')
    expect(await rolesOf('a')).toEqual({ ada: 'member', bob: 'owner', eve: 'member' })
  })

  it('of the last owner stays, and a stranger is not found', async () => {
    await expect(opened.people.setRole('a', 'ada', 'member')).rejects.toMatchObject(lastOwner)
    await expect(opened.people.setRole('a', 'eve', 'owner')).rejects.toMatchObject(noMember)
    await expect(opened.people.setRole('b', 'ada', 'member')).rejects.toMatchObject(noMember)
    expect(await rolesOf('a')).toEqual({ ada: 'owner' })
  })

  it('that is no owner any more ends the links and shares that the person made, and no others', async () => {
    await opened.join('a', 'bob', 'owner')
    await opened.join('b', 'bob', 'owner')
    await link('a', 'bob')
    await link('a', 'ada')
    await link('b', 'bob')
    await share('of-bob', 'a', 'bob', 'guest')
    await share('of-ada', 'a', 'ada', 'guest')
    await opened.people.setRole('a', 'bob', 'owner')
    expect(await opened.links.list('a')).toHaveLength(2)
    expect(isRevoked('of-bob')).toBe(false)
    await opened.people.setRole('a', 'bob', 'member')
    expect((await opened.links.list('a')).map(({ madeBy }) => madeBy)).toEqual(['ada'])
    expect(await opened.links.list('b')).toHaveLength(1)
    expect([isRevoked('of-bob'), isRevoked('of-ada')]).toEqual([true, false])
    await opened.people.setRole('a', 'bob', 'owner')
    expect(await opened.links.list('a')).toHaveLength(1)
  })

  it('that a company gives needs the link of the person to that company', async () => {
    await opened.join('a', 'bob')
    const [own, other] = [await addCompany('a'), await addCompany('b', 'other.example')]
    const give = () => opened.people.setRole('a', 'bob', 'owner', own.companyId)
    await expect(give()).rejects.toMatchObject({ reason: 'conflict' })
    await opened.companyPeople.linkPerson(other, 'bob', 'bob')
    await expect(give()).rejects.toMatchObject({ reason: 'conflict' })
    await opened.companyPeople.linkPerson(own, 'bob', 'bob')
    await give()
    expect(await rolesOf('a')).toEqual({ ada: 'owner', bob: 'owner' })
    await opened.people.setRole('a', 'bob', 'member')
    await run('UPDATE companies SET removed_at = 1')
    await expect(give()).rejects.toMatchObject({ reason: 'conflict' })
    expect(await rolesOf('a')).toEqual({ ada: 'owner', bob: 'member' })
  })

  it('that an owner lost stays lost when the rules of a company give it again', async () => {
    await opened.join('a', 'bob', 'owner')
    const company = await addCompany('a')
    await opened.companyPeople.linkPerson(company, 'bob', 'bob')
    const localRole = async () => (await run('SELECT local_role FROM company_people'))[0]!.local_role
    expect(await localRole()).toBe('owner')
    await opened.people.setRole('a', 'bob', 'member')
    expect(await localRole()).toBe('member')
    await opened.companyPeople.admit(company, 'bob', 'owner', undefined)
    await expect(opened.people.setRole('a', 'ada', 'member')).rejects.toMatchObject(lastOwner)
  })

  it('of an owner by the rules of a company does not replace the last local owner', async () => {
    const company = await addCompany('a')
    await opened.companyPeople.admit(company, 'grace', 'owner', undefined)
    await expect(opened.people.setRole('a', 'ada', 'member')).rejects.toMatchObject(lastOwner)
    await expect(opened.people.remove('a', 'ada')).rejects.toMatchObject(lastOwner)
  })
})

describe('a membership', () => {
  it('of the last owner stays with everything, and a stranger is not found', async () => {
    await opened.sessions.create({
      ...{ personId: 'ada', accountId: 'a', method: 'password', address: '', userAgent: '', jkt: '' },
    })
    await expect(opened.people.remove('a', 'ada')).rejects.toMatchObject(lastOwner)
    await expect(opened.people.remove('a', 'eve')).rejects.toMatchObject(noMember)
    await expect(opened.people.remove('b', 'ada')).rejects.toMatchObject(noMember)
    expect(await run('SELECT 1 AS one FROM sessions')).toHaveLength(1)
    expect(await opened.people.byId('ada')).toBeDefined()
  })

  it('that is removed is noted, for what other replicas have in memory of the person', async () => {
    await opened.join('a', 'bob')
    await opened.people.remove('a', 'bob')
    expect(opened.noted).toContain('bob')
    expect(await rolesOf('a')).toEqual({ ada: 'owner' })
  })

  const tokens: readonly (readonly [what: string, insert: string])[] = [
    [
      'a developer ID token',
      "INSERT INTO developer_tokens VALUES ('id', 'a', 'c', 0, 9e12, NULL, 'bob', NULL)",
    ],
    [
      'a sign-in',
      `INSERT INTO sign_ins (sid, client_id, account_id, person_id, email, node_id, origin, scope, audience, jkt, auth_time,
        created_at, expires_at, generation, rotations, last_used_at, described)
        VALUES ('id', 'c', 'a', 'bob', '', '', '', '', '""', '', 0, 0, 9000000000000, 0, '', 0, '')`,
    ],
    [
      'an approved terminal',
      `INSERT INTO device_requests (device_hash, user_code, client_id, scope, jkt, address, user_agent, created_at, expires_at, step,
        polled_at, too_fast, state, sid, account_id, person_id, email, auth_time)
        VALUES ('h', 'u', 'c', '', '', '', '', 0, 9000000000000, 5, 0, 0, '', 'id', 'a', 'bob', '', 0)`,
    ],
    [
      'an authorization code',
      "INSERT INTO authorization_codes VALUES ('h', 'id', 'c', '', '', '', '', '', '', '', 'a', 'bob', '', 0, 0, '', 9, NULL)",
    ],
    [
      'a share with the person',
      "INSERT INTO service_shares VALUES ('id', 'a', 'n', 0, 'c', 's', 'bob', '', 'ada', 0, 9, NULL)",
    ],
    [
      'a share by the person',
      "INSERT INTO service_shares VALUES ('id', 'a', 'n', 0, 'c', 's', 'guest', '', 'bob', 0, 9, NULL)",
    ],
    ['a place in a group', "INSERT INTO group_members VALUES ('id', 'g', 'bob', 0, NULL)"],
  ]

  it.each(tokens)(
    'that is removed revokes %s, and not the same of another account or person',
    async (_, insert) => {
      await opened.join('a', 'bob')
      await opened.join('a', 'eve')
      await opened.join('b', 'bob')
      await run("INSERT INTO person_groups VALUES ('g', 'a', 'drivers', 0, NULL)")
      await run(insert)
      await opened.people.remove('a', 'eve')
      expect(isRevoked('id')).toBe(false)
      await opened.people.remove('b', 'bob')
      expect(isRevoked('id')).toBe(false)
      await opened.people.remove('a', 'bob')
      expect(isRevoked('id')).toBe(true)
    },
  )

  it('that is removed revokes what rules gave to the linked subject, in its present generation', async () => {
    await opened.join('a', 'bob')
    await run(
      `INSERT INTO project_issuers VALUES ('i', 'c', 'https://issuer.example', '[]', '[]', '', 'person', '', 0, 0, 0, NULL)`,
    )
    await run("INSERT INTO federated_subjects VALUES ('s', 'i', 'a', 'sub', 'bob', 4, 0, 0, 0)")
    await opened.people.remove('a', 'bob')
    expect([isRevoked('s.4'), isRevoked('s.3')]).toEqual([true, false])
  })

  it('that is removed ends the invitations of the person to this account', async () => {
    await opened.join('a', 'bob', 'owner')
    await opened.join('b', 'bob', 'owner')
    await opened.join('b', 'eve', 'owner')
    await link('a', 'bob')
    await link('a', 'ada')
    await link('b', 'bob')
    await opened.people.remove('a', 'bob')
    const rows = await run('SELECT account_id, made_by FROM links ORDER BY account_id')
    expect(rows).toEqual([
      { account_id: 'a', made_by: 'ada' },
      { account_id: 'b', made_by: 'bob' },
    ])
  })

  const own = [
    ['passkeys', "INSERT INTO passkeys VALUES ('credential', 'bob', 'n', '', 0, '', 0, NULL)"],
    ['recovery_codes', "INSERT INTO recovery_codes VALUES ('hash', 'bob', NULL)"],
    ['known_browsers', "INSERT INTO known_browsers VALUES ('bob', 'key', 0)"],
    // A session of another account that the person has left already.
    [
      'sessions',
      "INSERT INTO sessions VALUES ('s', 'h', 'bob', 'gone', 0, 'password', 0, 0, 9000000000000, '', '', 'key')",
    ],
    ['people', "UPDATE people SET password = 'hash' WHERE person_id = 'bob'"],
  ] as const

  it('that was the only one of the person leaves nothing of the person', async () => {
    await opened.join('a', 'bob')
    for (const [, insert] of own) await run(insert)
    await opened.people.remove('a', 'bob')
    for (const [table] of own)
      expect(await run(`SELECT 1 AS one FROM ${table} WHERE person_id = 'bob'`), table).toEqual([])
    expect(await opened.people.byId('ada')).toBeDefined()
  })

  it('that was one of two leaves how the person signs in', async () => {
    await opened.join('a', 'bob')
    await opened.join('b', 'bob')
    for (const [, insert] of own) await run(insert)
    await opened.people.remove('a', 'bob')
    for (const [table] of own)
      expect(await run(`SELECT 1 AS one FROM ${table} WHERE person_id = 'bob'`), table).toHaveLength(1)
    expect(await rolesOf('b')).toEqual({ bob: 'member' })
  })

  it('that a company gives later is of the company alone', async () => {
    await opened.join('a', 'bob')
    await opened.join('b', 'bob')
    const [here, there] = [await addCompany('a'), await addCompany('b', 'other.example')]
    await opened.companyPeople.linkPerson(here, 'bob', 'bob')
    await opened.companyPeople.linkPerson(there, 'bob', 'bob')
    await opened.people.remove('a', 'bob')
    const rows = await run('SELECT account_id, local_role FROM company_people ORDER BY account_id')
    expect(rows).toEqual([
      { account_id: 'a', local_role: '' },
      { account_id: 'b', local_role: 'member' },
    ])
  })
})
