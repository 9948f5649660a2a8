/** The claims of the person of an app: each may be wrong in itself, and they need the person. */
import { describe, expect, it } from 'vitest'
import { groupNamePattern, userLimits, userProblem } from './users.ts'

const group = { id: 'm-1', name: 'staff' }
const share = { id: 's_1', service: 'Cam.era_1', until: 2e9 }
const user = { name: 'ada@example.com', groups: [group] }
const shares = { account_id: 'owner', services: [share] }
const problemOf = (claims: object) => userProblem({ sub: 'ada', ...claims })
const many = (count: number, one: object) => Array.from({ length: count }, () => one)

it('may be absent, with any subject', () => {
  expect(userProblem({})).toBeUndefined()
  expect(userProblem({ sub: 'urn:x y' })).toBeUndefined()
})

it.each([
  { user },
  { user, shares },
  { user: { name: '', groups: [] } },
  { user: { ...user, name: 'a'.repeat(userLimits.nameCharacters) } },
  { user, shares: { ...shares, services: [] } },
  { user, shares: { ...shares, services: [{ ...share, member: 'm-1' }] } },
  { user: { ...user, groups: many(userLimits.groups, group) } },
  { user, shares: { ...shares, services: many(userLimits.shares, share) } },
])('are right: %j', (claims) => {
  expect(problemOf(claims)).toBeUndefined()
})

it.each([null, {}, shares])('shares %j without a person are refused', (value) => {
  expect(problemOf({ shares: value })).toBe('claim "shares" is of no person')
})

const badIds = [undefined, null, 1, '', 'a b', 'a.b', 'a\n', 'é', 'a'.repeat(65), ['a']]

it.each(badIds)('a person with the ID %j is refused', (sub) => {
  expect(userProblem({ sub, user })).toBe('claim "sub" is not the ID of a person')
})

it('an ID has at most 64 characters', () => {
  expect(userProblem({ sub: 'a'.repeat(64), user })).toBeUndefined()
})

it.each([undefined, null, 1, ['a'], 'a'.repeat(321)])('a person with the name %j is refused', (name) => {
  expect(problemOf({ user: { ...user, name } })).toBe('claim "user.name" is not a name')
})

it.each([null, 1, 'ada', true, []])('%j is no person', (value) => {
  expect(problemOf({ user: value })).toBe('claim "user.name" is not a name')
})

describe('groups', () => {
  const refused = 'claim "user.groups" is not a list of groups'
  const withGroups = (groups: unknown) => problemOf({ user: { ...user, groups } })

  it.each([undefined, null, 'staff', {}, { length: 0 }])('are a list, not %j', (groups) => {
    expect(withGroups(groups)).toBe(refused)
  })

  it('are at most 16', () => {
    expect(withGroups(many(17, group))).toBe(refused)
  })

  it.each(badIds)('have no ID such as %j', (id) => {
    expect(withGroups([group, { ...group, id }])).toBe(refused)
  })

  it.each([
    undefined,
    null,
    1,
    ['staff'],
    '',
    'Staff',
    '.a',
    '_a',
    '-a',
    'a b',
    'a,b',
    'a"',
    'a\n',
    'é',
    'a'.repeat(33),
  ])('have no name such as %j', (name) => {
    expect(withGroups([{ ...group, name }])).toBe(refused)
  })

  it.each(['a', '0', 'a.b_c-d', 'a'.repeat(32)])('may have the name %s', (name) => {
    expect(withGroups([{ ...group, name }])).toBeUndefined()
    expect(name).toMatch(groupNamePattern)
  })

  it.each([null, 1, 'staff', []])('cannot be %j', (one) => {
    expect(withGroups([one])).toBe(refused)
  })
})

describe('shares', () => {
  const refused = 'claim "shares.services" is not a list of shares'
  const withShares = (services: unknown) => problemOf({ user, shares: { ...shares, services } })
  const withShare = (change: object) => withShares([share, { ...share, ...change }])

  it.each(badIds)('are of no account such as %j', (account_id) => {
    expect(problemOf({ user, shares: { ...shares, account_id } })).toBe(
      'claim "shares.account_id" is not an account',
    )
  })

  it.each([null, 1, 'x', []])('are not %j', (value) => {
    expect(problemOf({ user, shares: value })).toBe('claim "shares.account_id" is not an account')
  })

  it.each([undefined, null, 'x', {}])('are a list, not %j', (services) => {
    expect(withShares(services)).toBe(refused)
  })

  it('are at most 16', () => {
    expect(withShares(many(17, share))).toBe(refused)
  })

  it.each(badIds)('have no ID such as %j', (id) => {
    expect(withShare({ id })).toBe(refused)
  })

  it.each(badIds.slice(1))('rest on no membership such as %j', (member) => {
    expect(withShare({ member })).toBe(refused)
  })

  it.each([undefined, null, 1, ['a'], '', '.a', '_a', '-a', 'a b', 'a/b', 'a\n', 'é', 'a'.repeat(64)])(
    'are of no service such as %j',
    (service) => {
      expect(withShare({ service })).toBe(refused)
    },
  )

  it.each(['a', '0', 'A', 'a.b_c-D', 'a'.repeat(63)])('may be of the service %s', (service) => {
    expect(withShare({ service })).toBeUndefined()
  })

  it.each([undefined, null, '1', 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    'end at no time such as %j',
    (until) => {
      expect(withShare({ until })).toBe(refused)
    },
  )

  it.each([null, 1, 's'])('cannot be %j', (one) => {
    expect(withShares([one])).toBe(refused)
  })
})

it('has the limits that the documents state', () => {
  expect(userLimits).toEqual({
    nameCharacters: 320,
    groups: 16,
    shares: 16,
    groupsOfAccount: 50,
    peopleOfGroup: 200,
    sharesOfAccount: 1000,
    shareDays: 400,
  })
})
