/** Who calls a service for users: a person of its app, of the account of the device or with a share of this service. */
import { RpcError } from '@selvedge/protocol'
import { type AccessClaims, leeway, type TokenShare } from '@selvedge/protocol/tokens'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { createReadUser } from './users.ts'

const clock = createFakeClock()
const now = clock.now() / 1000
let revoked: string[]
beforeEach(() => {
  revoked = []
})
const readUser = createReadUser({
  keepUnrevoked: (_, ids) => ids.filter((id) => !revoked.includes(id)),
  now: clock.now,
})
const route = { id: 'c-camera', container: { accountId: 'a', clientId: 'c', name: 'camera' } }
const groups = [
  { id: 'm1', name: 'staff' },
  { id: 'm2', name: 'night-shift' },
]
const ofAccount = {
  sub: 'ada',
  client_id: 'c',
  account_id: 'a',
  user: { name: 'ada@example.com', groups },
}
const share: TokenShare = { id: 's1', service: 'camera', until: now + 60 }
const ofOther = (more: Partial<TokenShare> = {}, owner = 'a') => ({
  ...ofAccount,
  account_id: 'b',
  shares: {
    account_id: owner,
    services: [
      { ...share, id: 's0', service: 'other' },
      { ...share, ...more },
    ],
  },
})
const outcomeOf = (claims: object) => {
  try {
    return readUser(claims as AccessClaims, route)
  } catch (cause) {
    if (cause instanceof RpcError) return `${cause.reason}: ${cause.message}`
    throw cause
  }
}
const ada = { sub: 'ada', name: 'ada@example.com', groups: ['staff', 'night-shift'] }

describe('a person of the account of the service', () => {
  it('is known with name and groups', () => {
    expect(outcomeOf(ofAccount)).toEqual(ada)
  })

  it('is in no group that the person was removed from', () => {
    revoked = ['m1']
    expect(outcomeOf(ofAccount)).toEqual({ ...ada, groups: ['night-shift'] })
    revoked = ['m1', 'm2']
    expect(outcomeOf(ofAccount)).toEqual({ ...ada, groups: [] })
  })

  it('of another app is refused', () => {
    expect(outcomeOf({ ...ofAccount, client_id: 'd' })).toBe(
      'insufficient_scope: the service c-camera accepts only people of its own project',
    )
  })
})

it('a token of no person is refused, with what to do', () => {
  const { user: _, ...claims } = ofAccount
  expect(outcomeOf(claims)).toBe(
    'forbidden: the service c-camera is for people (MCM.ACCESS), and the token is of no person',
  )
  expect(() => readUser(claims as never, route)).toThrow(
    expect.objectContaining({ hint: expect.stringContaining('edge_id_token') }),
  )
})

describe('a person of another account', () => {
  it('with a share of the service is known as in the token', () => {
    expect(outcomeOf(ofOther())).toEqual(ada)
    expect(outcomeOf(ofOther({ member: 'm1' }))).toEqual(ada)
  })

  it('without shares, or with those of a third account, is refused', () => {
    const refused = 'wrong_account: the service c-camera belongs to another account than the token'
    expect(outcomeOf({ ...ofAccount, account_id: 'b' })).toBe(refused)
    expect(outcomeOf(ofOther({}, 'x'))).toBe(refused)
  })

  it('with a share of other services is refused', () => {
    expect(outcomeOf(ofOther({ service: 'Camera' }))).toBe(
      'forbidden: the service c-camera is not shared with the person of the token',
    )
  })

  it('is refused after the end of the share, with the leeway of all times', () => {
    expect(outcomeOf(ofOther({ until: now - leeway + 1 }))).toEqual(ada)
    expect(outcomeOf(ofOther({ until: now - leeway }))).toBe(
      'forbidden: the share of the service c-camera has expired',
    )
  })

  it('is refused once the share was removed, or the membership that it depends on', () => {
    const removed = 'token_revoked: the share of the service c-camera was removed'
    revoked = ['s1']
    expect(outcomeOf(ofOther())).toBe(removed)
    revoked = ['m9']
    expect(outcomeOf(ofOther())).toEqual(ada)
    expect(outcomeOf(ofOther({ member: 'm9' }))).toBe(removed)
    // The share of another service.
    revoked = ['s0']
    expect(outcomeOf(ofOther())).toEqual(ada)
  })
})
