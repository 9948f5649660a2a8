/** Local tokens: which tokens a runtime recognizes as its own, and the claims that they and leases give to the checks. */
import { edgeAudience, type LeaseClaims } from '@selvedge/protocol/tokens'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { describe, expect, it } from 'vitest'
import { accessOf, createLocalTokens } from './local-tokens.ts'

const nodeId = 'a'.repeat(56)
const clock = createFakeClock()
const now = clock.now() / 1000
const lease = {
  iss: 'https://identity.example',
  sub: 'account',
  aud: 'urn:node',
  client_id: 'client',
  azp: 'client',
  scope: 'openid edge:mcm',
  iat: now - 100,
  exp: now + 86_400,
  jti: 'lease',
  auth_time: 7,
  account_id: 'account',
  node_id: nodeId,
  sid: 'sign-in',
  epoch: 5,
  cnf: { jkt: 'thumbprint' },
} as LeaseClaims

it('gives the claims of the lease in the form of an access token, by the scope and end of the local token', () => {
  const local = createLocalTokens(nodeId, clock)
  const { token, expiresIn } = local.issue(lease, 'openid')
  expect(expiresIn).toBe(540)
  expect(local.verify(token)).toStrictEqual({
    ...{ iss: lease.iss, sub: 'account', aud: edgeAudience, iat: lease.iat, exp: now + 540, jti: 'lease' },
    ...{ client_id: 'client', azp: 'client', scope: 'openid', auth_time: 7, node_id: nodeId },
    ...{
      account_id: 'account',
      act: { sub: nodeId },
      sid: 'sign-in',
      cnf: lease.cnf,
      isLease: true,
      epoch: 5,
    },
  })
  expect(accessOf(lease)).toMatchObject({ aud: edgeAudience, act: { sub: nodeId }, isLease: true })
})

it('of a lease without an epoch have no epoch', () => {
  const local = createLocalTokens(nodeId, clock)
  const { epoch: _, ...without } = lease
  const { token } = local.issue(without, 'openid')
  expect(JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).lease).not.toHaveProperty(
    'epoch',
  )
  expect(local.verify(token)).not.toHaveProperty('epoch')
})

it('give the same claims object each time, so that what is known about it is found', () => {
  const local = createLocalTokens(nodeId, clock)
  const { token } = local.issue(lease, 'openid')
  expect(local.verify(token)).toBe(local.verify(token))
})

it('are own ones by the key that their header names', () => {
  const [local, stranger] = [createLocalTokens(nodeId, clock), createLocalTokens(nodeId, clock)]
  const { token } = stranger.issue(lease, 'openid')
  expect(local.isOwn(token)).toBe(false)
  const own = local.issue(lease, 'openid').token
  expect([own, token, '', 'x'].map(local.isOwn)).toEqual([true, false, false, false])
})

describe('the person of a lease', () => {
  const user = { name: 'ada@example.com', groups: [{ id: 'm', name: 'staff' }] }
  const shares = { account_id: 'owner', services: [{ id: 's', service: 'camera', until: now }] }
  const issued = (more: object) => {
    const local = createLocalTokens(nodeId, clock)
    const { token } = local.issue({ ...lease, sub: 'ada', ...more }, 'openid')
    const signed = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
    return [signed, local.verify(token)]
  }

  it('is the person of its local tokens, with groups and what is shared', () => {
    for (const claims of issued({ user, shares })) expect(claims).toMatchObject({ sub: 'ada', user, shares })
  })

  it('may have no shares', () => {
    for (const claims of issued({ user })) {
      expect(claims).toMatchObject({ user })
      expect(claims).not.toHaveProperty('shares')
    }
  })

  it('is in no local token of a lease without a person', () => {
    for (const claims of issued({})) {
      expect(claims).not.toHaveProperty('user')
      expect(claims).not.toHaveProperty('shares')
    }
  })
})
