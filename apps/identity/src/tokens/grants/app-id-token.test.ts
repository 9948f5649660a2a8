import { createFakeClock } from '@selvedge/service-kit/testing'
import { expect, it } from 'vitest'
import { createAppIdTokens } from './app-id-token.ts'

const clock = createFakeClock()
const signed: unknown[][] = []
let issuer = 'https://identity.example'
const issue = createAppIdTokens({
  clock,
  keys: { signAppId: (...of: unknown[]) => signed.push(of) && 'signed' } as never,
  issuer: () => issuer,
})
const signIn = {
  sid: 's',
  clientId: 'c',
  accountId: 'a',
  personId: 'ada',
  email: 'ada@example.com',
  authTime: 5,
}
/** The example of RFC 6750 § 2.1, and the left half of its SHA-256. */
const accessToken = 'mF_9.B5f-4.1JqM'
const at_hash = Buffer.from('b8e148545b13c78bc74da2f1a7275dd7', 'hex').toString('base64url')

function claimsOf(change: object = {}) {
  const token = issue({ signIn, accessToken, lifetimeSeconds: 60, algorithm: 'RS256', epoch: 9, ...change })
  expect(token).toBe('signed')
  return signed.pop()!
}

it('names person, app, account, sign-in and access token, and is as old as now', () => {
  const now = Math.floor(clock.now() / 1000)
  const claims = {
    iss: 'https://identity.example',
    sub: 'ada',
    aud: 'c',
    iat: now,
    exp: now + 60,
    jti: expect.stringMatching(/^[\da-f-]{36}$/),
    account_id: 'a',
    email: 'ada@example.com',
    auth_time: 5,
    sid: 's',
    at_hash,
    epoch: 9,
  }
  expect(claimsOf()).toStrictEqual([claims, 'RS256'])
  expect(claimsOf({ nonce: 'n', algorithm: 'ES256' })).toStrictEqual([{ ...claims, nonce: 'n' }, 'ES256'])
})

it('is different from every other one, and of the issuer of its time', () => {
  issuer = 'https://moved.example'
  const [one, other] = [claimsOf()[0], claimsOf()[0]] as { jti: string; iss: string }[]
  expect(one!.jti).not.toBe(other!.jti)
  expect(one!.iss).toBe('https://moved.example')
})
