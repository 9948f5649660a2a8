/** The claims of leases and local tokens, and what devices report of their use: one value at a time is wrong. */
import { describe, expect, it } from 'vitest'
import {
  jwtBearerGrant,
  leaseDays,
  leaseProfile,
  leaseScopes,
  leaseUseLimits,
  localProfile,
  localTokenPath,
  nodeUrn,
  readLeaseUses,
} from './leases.ts'

const nodeId = 'a'.repeat(56)
const bound = {
  sub: 'person',
  client_id: 'c',
  account_id: 'a',
  node_id: nodeId,
  scope: '',
  cnf: { jkt: 'k' },
}
const lease = { ...bound, jti: 'j', sid: 's', auth_time: 0 }
const user = { name: 'ada@example.com', groups: [] }
const badIds = [undefined, null, 1, '', 'a b', 'a\n', 'é', '\u007f', 'a'.repeat(65), ['a']]

describe.each([
  { profile: leaseProfile, valid: lease, ids: ['client_id', 'account_id', 'jti', 'sid'] },
  { profile: localProfile, valid: bound, ids: ['client_id', 'account_id'] },
])('the claims of a $profile.label', ({ profile, valid, ids }) => {
  const problemOf = (claims: object) => profile.check({ ...valid, ...claims })

  it('are right with and without a person', () => {
    expect(problemOf({})).toBeUndefined()
    expect(problemOf({ user })).toBeUndefined()
    expect(problemOf({ user: {} })).toBe('claim "user.name" is not a name')
  })

  it.each(ids)('have an ID of a device as "%s"', (name) => {
    for (const id of badIds)
      expect(problemOf({ [name]: id })).toBe(
        `claim "${name}" is not an ID of at most 64 printable characters`,
      )
    for (const id of ['!', '~', 'a'.repeat(64)]) expect(problemOf({ [name]: id })).toBeUndefined()
  })

  it.each([
    ['sub', [undefined, null, 1, ''], 'is not a non-empty string'],
    ['node_id', [undefined, null, 1, '', 'A'.repeat(56), 'a'.repeat(55), [nodeId]], 'is not a node ID'],
    ['scope', [undefined, null, 1, ['openid']], 'is not a string'],
  ])('have "%s"', (name, values, problem) => {
    for (const value of values) expect(problemOf({ [name]: value })).toBe(`claim "${name}" ${problem}`)
  })

  it.each([undefined, null, 'x', {}, { jkt: '' }, { jkt: 1 }])('have a key, not %j', (cnf) => {
    expect(problemOf({ cnf })).toBe('claim "cnf.jkt" is not a thumbprint')
  })
})

describe('a lease', () => {
  it.each([undefined, null, '1'])('has the time of its sign-in, not %j', (auth_time) => {
    expect(leaseProfile.check({ ...lease, auth_time })).toBe('claim "auth_time" is not a number')
  })

  it('may have the number of a change', () => {
    expect(leaseProfile.check({ ...lease, epoch: 7 })).toBeUndefined()
    for (const epoch of [null, '1', 1.5, 2 ** 53])
      expect(leaseProfile.check({ ...lease, epoch })).toBe('claim "epoch" is not a whole number')
  })
})

it('both have their own type and longest life', () => {
  const kinds = [leaseProfile, localProfile].map(({ label, typ, maxLifetime }) => [label, typ, maxLifetime])
  expect(kinds).toEqual([
    ['lease', 'lease+jwt', 400 * 86_400],
    ['local token', 'local-at+jwt', 600],
  ])
})

it('have names that other programs know', () => {
  expect([nodeUrn(nodeId), jwtBearerGrant, localTokenPath]).toEqual([
    `urn:selvedge:node:${nodeId}`,
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    '/token',
  ])
  expect(leaseScopes).toEqual(['openid', 'edge:mcm', 'edge:clusters'])
  expect(leaseDays).toEqual({ min: 1, max: 400 })
})

describe('uses of leases', () => {
  const use = { jti: 'j', sid: 's', client_id: 'c', account_id: 'a', count: 1, first_at: 0, last_at: 0 }
  const latest = 253_402_300_799

  it('are read as they are, without what this version does not know', () => {
    const many = Array.from({ length: leaseUseLimits.count }, () => use)
    expect(readLeaseUses(many)).toEqual(many)
    const largest = { ...use, count: 1e9, first_at: latest, last_at: latest }
    expect(readLeaseUses([{ ...largest, other: 1 }])).toEqual([largest])
  })

  it.each([undefined, null, {}, 'x', [], [null], [use, 1], Array.from({ length: 9 }, () => use)])(
    'are not %j',
    (claim) => {
      expect(readLeaseUses(claim)).toBeUndefined()
    },
  )

  it.each(['jti', 'sid', 'client_id', 'account_id'])('have an ID as "%s"', (name) => {
    for (const id of badIds) expect(readLeaseUses([{ ...use, [name]: id }])).toBeUndefined()
  })

  it.each([
    ['count', [undefined, null, '1', 0, -1, 1.5, 1e9 + 1]],
    ['first_at', [undefined, null, '1', -1, 1.5, latest + 1]],
    ['last_at', [undefined, null, '1', -1, 1.5, latest + 1]],
  ])('have "%s" within its range', (name, values) => {
    for (const value of values) expect(readLeaseUses([{ ...use, [name]: value }])).toBeUndefined()
  })

  it('have at most 2,400 characters as JSON', () => {
    const roomCharacters = leaseUseLimits.characters - JSON.stringify([{ ...use, other: '' }]).length
    expect(readLeaseUses([{ ...use, other: 'x'.repeat(roomCharacters) }])).toEqual([use])
    expect(readLeaseUses([{ ...use, other: 'x'.repeat(roomCharacters + 1) }])).toBeUndefined()
  })
})
