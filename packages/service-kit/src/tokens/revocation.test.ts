/** A token ends with each thing that it came from, one by one. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type Ending,
  findRevocation,
  isIssuedBefore,
  type RevocableClaims,
  type RevocationKind,
  revocationEntry,
} from './revocation.ts'

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

it('a number decides only where both sides have one', () => {
  const token = { iat: 100, epoch: 5 }
  expect(isIssuedBefore(token, { epoch: 6, notBefore: 0 })).toBe(true)
  expect(isIssuedBefore(token, { epoch: 5, notBefore: 200 })).toBe(false)
  expect(isIssuedBefore(token, { notBefore: 101 })).toBe(true)
  expect(isIssuedBefore(token, { notBefore: 100 })).toBe(false)
  expect(isIssuedBefore({ iat: 100 }, { epoch: 6, notBefore: 100 })).toBe(false)
})

it.each<[kind: RevocationKind, subject: string, reason: string]>([
  ['id', 'token', 'it was revoked'],
  ['id', 'sign-in', 'the sign-in that it came from was revoked'],
  ['account', 'account', 'its account revoked all tokens of that time'],
  ['node', 'node', 'its node was blocked or removed after it was issued'],
  ['client', 'client', 'its project was turned off or removed after it was issued'],
])('the reason for %s "%s" is: %s', (kind, subject, reason) => {
  const endingOf = (...asked: string[]) =>
    asked.join() === `${kind},${subject}` ? { epoch: 6, notBefore: 200 } : undefined
  expect(findRevocation(claims, endingOf)).toBe(reason)
})

describe('a project that revokes its leases', () => {
  const ending: Ending = { epoch: 6, notBefore: 200 }
  const endingOf = (...asked: string[]) => (asked.join() === 'lease,client' ? ending : undefined)

  it('revokes leases of before, with this reason', () => {
    expect(findRevocation({ ...claims, isLease: true }, endingOf)).toBe(
      'its project revoked its leases after it was issued',
    )
    expect(findRevocation({ ...claims, isLease: true, epoch: 6 }, endingOf)).toBeUndefined()
    expect(findRevocation({ ...claims, isLease: true, client_id: 'other' }, endingOf)).toBeUndefined()
  })

  it('revokes no other tokens', () => {
    expect(findRevocation(claims, endingOf)).toBeUndefined()
    expect(findRevocation({ ...claims, isLease: true }, () => undefined)).toBeUndefined()
  })
})

describe('the edge ID tokens of a node', () => {
  const edgeToken: RevocableClaims = { jti: 'token', iat: 100, epoch: 5, node_id: 'node' }
  const ending = (notBefore: number): Ending => ({ epoch: 6, notBefore })

  it('are revoked by their time, also if they have a number', () => {
    expect(isRevoked(edgeToken, 'edge', 'node', ending(101))).toBe(true)
    expect(isRevoked(edgeToken, 'edge', 'node', ending(100))).toBe(false)
    expect(isRevoked(edgeToken, 'edge', 'other', ending(101))).toBe(false)
    expect(findRevocation(edgeToken, (kind) => (kind === 'edge' ? ending(101) : undefined))).toBe(
      'it was revoked',
    )
  })

  it('are other tokens than the access tokens for the node, and than tokens without a node', () => {
    expect(isRevoked({ ...edgeToken, client_id: 'client' }, 'edge', 'node', ending(101))).toBe(false)
    expect(isRevoked({ jti: 'token', iat: 100 }, 'edge', 'node', ending(101))).toBe(false)
  })
})

it('nothing is asked about what a token does not have', () => {
  const asked: string[] = []
  findRevocation({ jti: 'token', iat: 100 }, (kind, subject) => {
    asked.push(`${kind} ${subject}`)
    return undefined
  })
  expect(asked).toEqual(['id token'])
})

it('an entry of the public list is half a hash of its kind and name, the same in every version', () => {
  expect(revocationEntry('node', 'abc')).toBe(
    createHash('sha256').update('node:abc').digest().subarray(0, 16).toString('base64url'),
  )
  expect(revocationEntry('node', 'abc')).not.toBe(revocationEntry('account', 'abc'))
})
