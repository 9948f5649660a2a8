import type { RevocableClaims } from '@selvedge/service-kit/tokens'
import { beforeEach, expect, it } from 'vitest'
import { notingLimits, outcomeOfAnswer } from '../../../../../tests/harness/grants.ts'
import type { Approved, Poll } from '../../registry/sign-ins/device-requests.ts'
import { deviceCode } from './device-code.ts'

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

const outcomeOf = (jkt?: string) => outcomeOfAnswer(() => answerOf(jkt))

/** @throws OAuthError | TokenError */
async function answerOf(jkt?: string) {
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
    issueAppId: () => 'app ID token',
    developerTokens: {} as never,
    audit: {} as never,
    limits: notingLimits(counted, () => refuses) as never,
    issueLease: async () => ({}),
    readUser: async () => ({}),
    mint: ({ scope }) => ({ access_token: 't', token_type: 'Bearer', expires_in: 1, scope }),
  })
  const form = new Map(Object.entries({ client_id: 'c', device_code: 'x' }))
  return grant.answer(form, { address: '192.0.2.9', epoch: 9, prove: async () => jkt })
}

it('an approved sign-in counts for its client and account, and begins with the number of its approval', async () => {
  expect(await outcomeOf()).toBe('accepted')
  expect(counted).toEqual(['c a'])
  expect(begun).toEqual([
    {
      sid: 's',
      clientId: 'c',
      scope: 'edge:mcm offline_access',
      accountId: 'a',
      personId: 'ada',
      email: 'ada@example.com',
      authTime: 0,
      described: 'a terminal from 192.0.2.1',
      nodeId: '',
      origin: '',
      audience: 'https://identity.example',
      jkt: '',
      epoch: 3,
      createdAt: 0,
      expiresAt: 0,
      lastUsedAt: 0,
    },
  ])
})

it('a sign-in is described by the program that asked for it', async () => {
  poll = { outcome: 'approved', approved: { ...approved, userAgent: 'selvedge/1' } }
  await outcomeOf('key')
  expect(begun).toEqual([expect.objectContaining({ described: 'selvedge/1 from 192.0.2.1', jkt: 'key' })])
})

it('an answer has a refresh token only if offline_access was approved', async () => {
  expect(await answerOf()).toMatchObject({ access_token: 't', refresh_token: 'refresh' })
  poll = { outcome: 'approved', approved: { ...approved, scope: 'edge:mcm' } }
  begun = []
  expect(await answerOf()).not.toHaveProperty('refresh_token')
  expect(begun).toEqual([])
})

it.each<[Exclude<Poll['outcome'], 'approved'>, string, string]>([
  ['pending', 'authorization_pending', 'not approved yet'],
  ['too_fast', 'slow_down', 'wait 5 seconds longer'],
  ['denied', 'access_denied', 'refused on the page'],
  ['ended', 'expired_token', 'begin the sign-in again'],
  ['unknown', 'invalid_grant', 'issued to another client'],
])('a sign-in that is %s begins nothing: %s', async (outcome, code, why) => {
  poll = { outcome }
  await expect(answerOf()).rejects.toMatchObject({ code, message: expect.stringContaining(why) })
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
  await expect(answerOf()).rejects.toMatchObject({
    reason: 'token_revoked',
    message: 'the sign-in was revoked: revoked',
  })
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
