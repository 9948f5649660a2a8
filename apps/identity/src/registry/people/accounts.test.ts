/** Accounts and their first owner: an e-mail address alone makes no person the owner of an account. */
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openPeopleStore, type PeopleStore } from '../../../../../tests/harness/people.ts'

const clock = createFakeClock()
const start = clock.now()
let opened: PeopleStore

beforeEach(async () => {
  clock.set(start)
  opened = await openPeopleStore(clock)
})
afterEach(() => opened.close())

it('a new account belongs to a new person, who is its owner and has no sign-in method', async () => {
  const { accounts, people } = opened
  const account = await accounts.create('ada@example.com')
  expect(account).toEqual({
    accountId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    email: 'ada@example.com',
    createdAt: '2026-01-01T00:00:00.000Z',
  })
  const person = (await people.byEmail('ada@example.com'))!
  expect(person).toEqual({ personId: expect.any(String), email: 'ada@example.com', password: '' })
  expect(person.personId).not.toBe(account.accountId)
  expect(await people.members(account.accountId)).toEqual([
    { personId: person.personId, email: 'ada@example.com', role: 'owner', joinedAt: account.createdAt },
  ])
})

it('an address has one account, also if its person may be the owner', async () => {
  const { accounts, people } = opened
  const { accountId } = await accounts.create('ada@example.com')
  for (const options of [undefined, { isKnownPerson: true }, { isKnownPerson: false }])
    await expect(accounts.create('ada@example.com', options)).rejects.toMatchObject({
      reason: 'already_exists',
      message: 'there is an account with the e-mail address ada@example.com already',
    })
  expect(await accounts.list()).toHaveLength(1)
  expect(await people.members(accountId)).toHaveLength(1)
})

it('the address of a person elsewhere makes that person an owner only if the operator confirms it', async () => {
  const { accounts, people, addAccount, join } = opened
  await addAccount('a')
  await join('a', 'bob')
  for (const options of [undefined, {}, { isKnownPerson: false }])
    await expect(accounts.create('bob@example.com', options)).rejects.toMatchObject({
      reason: 'conflict',
      message: 'a person signs in with the e-mail address bob@example.com already',
      hint: expect.stringContaining('--known-person'),
    })
  expect(await accounts.list()).toHaveLength(1)
  const { accountId } = await accounts.create('bob@example.com', { isKnownPerson: true })
  expect(await people.members(accountId)).toMatchObject([{ personId: 'bob', role: 'owner' }])
  expect(await people.members('a')).toMatchObject([{ personId: 'bob', role: 'member' }])
})

it('the first account gets the link for the first owner, and no other account does', async () => {
  const { accounts, links } = opened
  const secret = (await links.createSetup(60))!
  expect(await links.find(secret)).toMatchObject({ email: '' })
  await accounts.create('ada@example.com')
  await accounts.create('bob@example.com')
  expect(await links.find(secret)).toMatchObject({ purpose: 'setup', email: 'ada@example.com' })
})

it('is found by its address and by its ID, and an unknown one is named with what to do', async () => {
  const { accounts } = opened
  const ada = await accounts.create('ada@example.com')
  const bob = await accounts.create('bob@example.com')
  expect(await accounts.byEmail('bob@example.com')).toEqual(bob)
  expect(await accounts.byId(ada.accountId)).toEqual(ada)
  await expect(accounts.byEmail('eve@example.com')).rejects.toMatchObject({
    reason: 'not_found',
    message: 'there is no account with the e-mail address eve@example.com',
    hint: 'Make one: selvedge admin account create --email eve@example.com',
  })
  await expect(accounts.byId('unknown')).rejects.toMatchObject({
    reason: 'not_found',
    message: 'there is no account unknown',
  })
})

it('are listed from the oldest to the newest', async () => {
  const { accounts } = opened
  for (const name of ['zoe', 'ada', 'bob']) {
    await accounts.create(`${name}@example.com`)
    clock.advance(1)
  }
  expect((await accounts.list()).map(({ email }) => email)).toEqual([
    'zoe@example.com',
    'ada@example.com',
    'bob@example.com',
  ])
})
