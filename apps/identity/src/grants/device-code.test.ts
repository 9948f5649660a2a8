import type { RevocableClaims } from '@selvedge/service-kit/tokens'
import { beforeEach, expect, it } from 'vitest'
import { notingLimits, outcomeOfAnswer } from '../../../../tests/harness/grants.ts'
import { deviceCode } from './device-code.ts'
import type { Approved, Poll } from './device-requests.ts'

const approved: Approved = {
  sid: 's',
  clientId: 'c',
  scope: 'edge:mcm offline_access',
  jkt: '',
  address: '192.0.2.1',
  userAgent: '',
  accountId: 'a',
  personId: 'ada',
  email: 'ada@example.com',
  authTime: 0,
  epoch: 3,
}
let poll: Poll
let isActive: boolean
let isRevoked: (claims: RevocableClaims) => boolean
let refuses: boolean
let counted: string[]
let begun: unknown[]
beforeEach(() => {
  poll = { outcome: 'approved', approved }
  isActive = true
  isRevoked = () => false
  refuses = false
  counted = []
  begun = []
})

async function outcomeOf(jkt?: string) {
  const grant = deviceCode({
    issuer: () => 'https://identity.example',
    deviceRequests: { poll: async () => poll } as never,
    projects: { find: async () => ({ clientId: 'c', active: isActive, dpop: 'optional' }) } as never,
    signIns: {
      begin: async (signIn: unknown) => {
        begun.push(signIn)
        return 'refresh'
      },
    } as never,
    revocations: {
      reasonFor: (claims: RevocableClaims) => (isRevoked(claims) ? 'revoked' : undefined),
    } as never,
    developerTokens: {} as never,
    audit: {} as never,
    limits: notingLimits(counted, () => refuses) as never,
    mint: ({ scope }) => ({ access_token: 't', token_type: 'Bearer', expires_in: 1, scope }),
  })
  const form = new Map(Object.entries({ client_id: 'c', device_code: 'x' }))
  return outcomeOfAnswer(() => grant.answer(form, { address: '192.0.2.1', epoch: 9, prove: async () => jkt }))
}

it('an approved sign-in counts for its client and account, and begins with the number of its approval', async () => {
  expect(await outcomeOf()).toBe('accepted')
  expect(counted).toEqual(['c a'])
  expect(begun).toEqual([expect.objectContaining({ sid: 's', accountId: 'a', personId: 'ada', epoch: 3 })])
})

it.each<[Exclude<Poll['outcome'], 'approved'>, string]>([
  ['pending', 'authorization_pending'],
  ['too_fast', 'slow_down'],
  ['denied', 'access_denied'],
  ['ended', 'expired_token'],
  ['unknown', 'invalid_grant'],
])('a sign-in that is %s begins nothing: %s', async (outcome, code) => {
  poll = { outcome }
  expect(await outcomeOf()).toBe(code)
  expect([begun, counted]).toEqual([[], []])
})

it.each<[what: string, isMeant: (claims: RevocableClaims) => boolean]>([
  ['itself', ({ jti }) => jti === 's'],
  [
    'its account, by the number of its approval',
    ({ account_id, epoch }) => account_id === 'a' && epoch === 3,
  ],
  ['its client', ({ client_id }) => client_id === 'c'],
])('a sign-in is refused after the end of %s', async (_, isMeant) => {
  isRevoked = isMeant
  expect(await outcomeOf()).toBe('token_revoked')
  expect(begun).toEqual([])
})

it('a sign-in that is bound to a key needs a proof of that key', async () => {
  poll = { outcome: 'approved', approved: { ...approved, jkt: 'key' } }
  expect([await outcomeOf(), await outcomeOf('other'), begun]).toEqual(['invalid_grant', 'invalid_grant', []])
  expect(await outcomeOf('key')).toBe('accepted')
})

it('a sign-in that comes too often, or of a project that is turned off, begins nothing', async () => {
  refuses = true
  expect(await outcomeOf()).toBe('temporarily_unavailable')
  isActive = false
  expect(await outcomeOf()).toBe('invalid_client')
  expect(begun).toEqual([])
})
