/** What a one-time link is worth: whom it lets in, where, until when. Races of several callers are in the suite. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { maxMembers, openPeopleStore, type PeopleStore } from '../../../../../tests/harness/people.ts'
import { type Links, maxLinks } from './links.ts'

const clock = createFakeClock()
const start = clock.now()
let opened: PeopleStore
let links: Links

beforeEach(async () => {
  clock.set(start)
  opened = await openPeopleStore(clock)
  links = opened.links
  await opened.addAccount('a')
  await opened.addAccount('b')
  await opened.join('a', 'ada', 'owner')
})
afterEach(() => opened.close())

const run = (text: string) => opened.store.run({ sql: text, values: [] })

type NewLink = Parameters<Links['create']>[0]

const create = (more: Partial<NewLink> = {}) =>
  links.create(
    { purpose: 'invitation', accountId: 'a', role: 'member', email: '', madeBy: 'ada', ...more },
    60,
  )

const rolesOf = async (accountId: string) =>
  Object.fromEntries((await opened.people.members(accountId)).map(({ email, role }) => [email, role]))

describe('a link', () => {
  it('is found by its secret only, as it was made', async () => {
    const secret = await create({ role: 'owner', email: 'bob@example.com' })
    expect(secret).toMatch(/^[\w-]{43}$/)
    const link = {
      ...{ linkId: expect.any(String), purpose: 'invitation', accountId: 'a', role: 'owner', madeBy: 'ada' },
      ...{ email: 'bob@example.com', createdAt: '2026-01-01T00:00:00.000Z' },
      expiresAt: '2026-01-01T00:01:00.000Z',
    }
    expect(await links.find(secret)).toEqual(link)
    expect(await links.list()).toEqual([link])
    expect(await links.find(`${secret}A`)).toBeUndefined()
    const [row] = await run('SELECT * FROM links')
    expect(Object.values(row!)).not.toContain(secret)
  })

  it('ends at its time', async () => {
    const secret = await create()
    clock.advance(59_999)
    expect(await links.find(secret)).toBeDefined()
    clock.advance(1)
    expect(await links.find(secret)).toBeUndefined()
    expect(await links.accept(secret, 'bob@example.com', '')).toBeUndefined()
    expect(await rolesOf('a')).toEqual({ 'ada@example.com': 'owner' })
  })

  it('is worth nothing while its maker is no owner of its account, and a link of the operator has no maker', async () => {
    await opened.join('a', 'bob')
    await opened.join('b', 'bob', 'owner')
    expect(await links.find(await create({ madeBy: 'bob' }))).toBeUndefined()
    expect(await links.find(await create({ madeBy: 'eve' }))).toBeUndefined()
    expect(await links.find(await create({ madeBy: '' }))).toBeDefined()
  })

  it('of an account is in its list, the newest first, and in no list of another', async () => {
    await create({ email: 'bob@example.com' })
    clock.advance(1)
    await create({ email: 'eve@example.com' })
    await create({ accountId: 'b', madeBy: '' })
    expect((await links.list('a')).map(({ email }) => email)).toEqual(['eve@example.com', 'bob@example.com'])
    expect(await links.list()).toHaveLength(3)
    expect(await links.list('c')).toEqual([])
  })

  it('is revoked by the operator, or by its own account', async () => {
    await create()
    const { linkId } = (await links.list())[0]!
    expect(await links.revoke(linkId, 'b')).toBe(false)
    expect(await links.list()).toHaveLength(1)
    expect(await links.revoke(linkId, 'a')).toBe(true)
    expect(await links.revoke(linkId, 'a')).toBe(false)
    await create()
    const other = (await links.list())[0]!.linkId
    expect(await links.revoke('unknown')).toBe(false)
    expect(await links.revoke(other)).toBe(true)
    expect(await links.list()).toEqual([])
  })

  it('has a limit for its account and address; expired ones do not count', async () => {
    for (let made = 0; made < maxLinks; made++) await create()
    await expect(create()).rejects.toMatchObject({
      reason: 'limit_exceeded',
      message: '100 links wait to be used already',
    })
    await create({ email: 'bob@example.com' })
    await create({ accountId: 'b' })
    clock.advance(60_000)
    await create()
  })
})

describe('an invitation', () => {
  it('lets a new person in, with its role, once', async () => {
    const secret = await create({ role: 'owner' })
    const accepted = await links.accept(secret, 'bob@example.com', '')
    expect(accepted).toEqual({
      personId: (await opened.people.byEmail('bob@example.com'))!.personId,
      accountId: 'a',
    })
    expect(await rolesOf('a')).toEqual({ 'ada@example.com': 'owner', 'bob@example.com': 'owner' })
    expect(await links.accept(secret, 'eve@example.com', '')).toBeUndefined()
    expect(await run('SELECT 1 AS one FROM links')).toEqual([])
  })

  it('lets in the caller, and no client as the person of a chosen address', async () => {
    await opened.join('b', 'bob')
    await opened.join('b', 'eve')
    const secret = await create()
    for (const viewerId of ['', 'eve'])
      expect(await links.accept(secret, 'bob@example.com', viewerId)).toBeUndefined()
    // The link can still be used.
    expect(await links.accept(secret, 'bob@example.com', 'bob')).toEqual({ personId: 'bob', accountId: 'a' })
    expect(await rolesOf('a')).toEqual({ 'ada@example.com': 'owner', 'bob@example.com': 'member' })
  })

  it('for an address lets in no other address', async () => {
    await opened.join('b', 'bob')
    const secret = await create({ email: 'bob@example.com' })
    expect(await links.accept(secret, 'eve@example.com', '')).toBeUndefined()
    expect(await links.accept(secret, 'eve@example.com', 'bob')).toBeUndefined()
    expect(await links.accept(secret, 'bob@example.com', '')).toEqual({ personId: 'bob', accountId: 'a' })
  })

  it('leaves the role of a person who is in the account', async () => {
    const secret = await create({ role: 'member' })
    expect(await links.accept(secret, 'ada@example.com', 'ada')).toEqual({ personId: 'ada', accountId: 'a' })
    expect(await rolesOf('a')).toEqual({ 'ada@example.com': 'owner' })
  })

  it('to a full account is refused with what to do, and can be used after a removal', async () => {
    for (let at = 1; at < maxMembers; at++) await opened.join('a', `p${at}`)
    const secret = await create()
    await expect(links.accept(secret, 'bob@example.com', '')).rejects.toMatchObject({
      reason: 'limit_exceeded',
      message: `the account has ${maxMembers} members already`,
      hint: 'Ask an owner to remove members who left, or the operator to raise limits.members.',
    })
    expect(await opened.people.byEmail('bob@example.com')).toBeUndefined()
    await opened.people.remove('a', 'p1')
    expect(await links.accept(secret, 'bob@example.com', '')).toMatchObject({ accountId: 'a' })
  })
})

describe('a link that resets a sign-in', () => {
  const reset = () => create({ purpose: 'reset', accountId: '', email: 'ada@example.com', madeBy: '' })

  it('lets in its person, also to a full account, and adds no membership', async () => {
    for (let at = 1; at < maxMembers; at++) await opened.join('a', `p${at}`)
    const secret = await reset()
    expect(await links.accept(secret, 'ada@example.com', '')).toEqual({ personId: 'ada', accountId: '' })
    expect(await opened.people.memberships('ada')).toHaveLength(1)
  })

  it('lets in no client with an address that no person has', async () => {
    const secret = await create({ purpose: 'reset', accountId: '', email: 'eve@example.com', madeBy: '' })
    expect(await links.accept(secret, 'eve@example.com', '')).toBeUndefined()
    expect(await opened.people.byEmail('eve@example.com')).toBeUndefined()
  })

  it('ends with the statements for a new credential of its person, as does the link for the first owner', async () => {
    const [own, other] = [await reset(), await create()]
    const setup = (await links.createSetup(60))!
    await opened.store.transaction(links.endFor('ada'))
    expect(await links.find(own)).toBeUndefined()
    expect(await links.find(setup)).toBeUndefined()
    expect(await links.find(other)).toBeDefined()
  })
})

describe('the link for the first owner', () => {
  it('is for the oldest owner without a sign-in method, and lives for its time', async () => {
    clock.advance(1)
    await opened.join('b', 'zoe', 'owner')
    const secret = (await links.createSetup(60))!
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(await links.find(secret)).toMatchObject({
      ...{ purpose: 'setup', accountId: '', role: 'owner', email: 'ada@example.com', madeBy: '' },
      expiresAt: '2026-01-01T00:01:00.001Z',
    })
    clock.advance(60_000)
    expect(await links.find(secret)).toBeUndefined()
  })

  it('makes an account of a new person, if there is no owner yet', async () => {
    await run('DELETE FROM members')
    await run('DELETE FROM people')
    await run('DELETE FROM accounts')
    const secret = (await links.createSetup(60))!
    expect(await links.find(secret)).toMatchObject({ email: '' })
    const accepted = (await links.accept(secret, 'zoe@example.com', ''))!
    expect(accepted.accountId).toBe('')
    expect(await opened.people.memberships(accepted.personId)).toEqual([
      { accountId: expect.any(String), name: 'zoe@example.com', role: 'owner' },
    ])
  })

  it('is worth nothing, and is not made, once any person can sign in', async () => {
    const secret = (await links.createSetup(60))!
    await run("UPDATE people SET password = 'hash'")
    expect(await links.find(secret)).toBeUndefined()
    expect(await links.createSetup(60)).toBeUndefined()
    await run("UPDATE people SET password = ''")
    // The attempt removed the link from before.
    expect(await links.find(secret)).toBeUndefined()
  })
})
