/** A token ends with each thing that it came from, one by one. */
import { describe, expect, it } from 'vitest'
import { type Ending, findRevocation, type RevocableClaims, type RevocationKind } from './revocation.ts'

const claims: RevocableClaims = {
  jti: 'token',
  iat: 100,
  epoch: 5,
  sid: 'sign-in',
  account_id: 'account',
  node_id: 'node',
  client_id: 'client',
}
const { epoch: _, ...withoutEpoch } = claims
/** Whether a token is revoked when one thing is. */
const isRevoked = (token: RevocableClaims, kind: RevocationKind, subject: string, ending: Ending) =>
  findRevocation(token, (...asked) => (asked.join() === `${kind},${subject}` ? ending : undefined)) !==
  undefined

describe.each<[kind: RevocationKind, subject: string]>([
  ['id', 'token'],
  ['id', 'sign-in'],
  ['account', 'account'],
  ['node', 'node'],
  ['client', 'client'],
])('a token after its %s "%s" was revoked', (kind, subject) => {
  it('is revoked', () => {
    expect(isRevoked(claims, kind, subject, { epoch: 6, notBefore: 0 })).toBe(true)
    expect(isRevoked(withoutEpoch, kind, subject, { epoch: 6, notBefore: 101 })).toBe(true)
  })

  it('is not revoked for anything else of that name', () => {
    expect(isRevoked(claims, kind, `${subject}-other`, { epoch: 6, notBefore: 200 })).toBe(false)
  })

  if (kind !== 'id')
    it('is valid if it was issued after that, by its number, and without one by its time', () => {
      expect(isRevoked(claims, kind, subject, { epoch: 5, notBefore: 200 })).toBe(false)
      expect(isRevoked(withoutEpoch, kind, subject, { epoch: 6, notBefore: 100 })).toBe(false)
    })
})
