/** Leases as they are made: for whom, for how long, and with which scopes. */
import { leaseProfile, nodeUrn } from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Offline } from '../../registry/projects/offline.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { createIssueLease } from './lease.ts'
import type { Grounds } from './mint.ts'

const clock = createFakeClock()
const now = seconds(clock)
const day = 86_400
/** When what the lease comes from expires, in Unix milliseconds; undefined: it was revoked. */
let sourceEndsAt: number | undefined
let asked: string[]
beforeEach(() => {
  sourceEndsAt = (now + 90 * day) * 1000
  asked = []
})

const issue = createIssueLease({
  clock,
  keys: { sign: (typ: string, claims: object) => JSON.stringify({ typ, ...claims }) } as never,
  issuer: () => 'https://identity.example',
  leaseSources: {
    async expiresAt(id) {
      asked.push(id)
      return sourceEndsAt
    },
  },
})
const nodeId = 'a'.repeat(56)
const month: Offline = { maxDays: 30, scopes: ['openid', 'edge:mcm'] }
const projectWith = (more: Partial<Project> = {}) =>
  ({ clientId: 'c', active: true, dpop: 'optional', offline: month, ...more }) as Project
const groundsWith = (more: Partial<Grounds> = {}): Grounds => ({
  project: projectWith(),
  accountId: 'a',
  authTime: 5,
  scope: 'openid edge:mcm edge:account:associate offline_access',
  audience: 'edge',
  sid: 's',
  epoch: 7,
  nodeId,
  jkt: 'key',
  ...more,
})
const person = {
  subject: 'ada',
  user: { name: 'ada@example.com', groups: [{ id: 'm', name: 'staff' }] },
  shares: { account_id: 'b', services: [{ id: 's', service: 'camera', until: 9 }] },
}
const claimsOf = async (more: Partial<Grounds> = {}) => JSON.parse((await issue(groundsWith(more))).lease!)

describe('a lease', () => {
  it('is for one node, client and key, and ends with what it came from', async () => {
    const { jti, ...claims } = await claimsOf()
    expect(jti).toMatch(/^[0-9a-f-]{36}$/)
    expect(claims).toEqual({
      typ: leaseProfile.typ,
      iss: 'https://identity.example',
      sub: 'a',
      aud: nodeUrn(nodeId),
      client_id: 'c',
      azp: 'c',
      scope: 'openid edge:mcm',
      iat: now,
      exp: now + 30 * day,
      auth_time: 5,
      account_id: 'a',
      node_id: nodeId,
      sid: 's',
      epoch: 7,
      cnf: { jkt: 'key' },
    })
    expect(leaseProfile.check(await claimsOf())).toBeUndefined()
    expect(asked).toEqual(['s', 's'])
  })

  it('is of the person of an app, with groups and what is shared', async () => {
    const { subject: sub, user, shares } = person
    expect(await claimsOf(person)).toMatchObject({ sub, user, shares, account_id: 'a' })
    expect(await claimsOf({ user })).not.toHaveProperty('shares')
    expect(await claimsOf()).not.toHaveProperty('user')
    expect(leaseProfile.check(await claimsOf(person))).toBeUndefined()
  })

  it('states its life', async () => {
    expect((await issue(groundsWith())).lease_expires_in).toBe(30 * day)
  })

  it('lives no longer than what it came from', async () => {
    sourceEndsAt = (now + day) * 1000 + 999
    expect((await claimsOf()).exp).toBe(now + day)
  })

  it('has the scopes that were granted and that the project names', async () => {
    expect((await claimsOf({ scope: 'edge:mcm edge:clusters' })).scope).toBe('edge:mcm')
  })
})

describe('there is no lease', () => {
  it.each<[why: string, more: () => Partial<Grounds>]>([
    ['without a node', () => ({ nodeId: undefined })],
    [
      'for a project without leases',
      () => ({ project: projectWith({ offline: { maxDays: 0, scopes: [] } }) }),
    ],
    [
      'for a project without scopes',
      () => ({ project: projectWith({ offline: { maxDays: 30, scopes: [] } }) }),
    ],
    [
      'for a project without days',
      () => ({ project: projectWith({ offline: { maxDays: 0, scopes: ['openid'] } }) }),
    ],
    ['for a project that is turned off', () => ({ project: projectWith({ active: false }) })],
    ['for a project that binds no tokens', () => ({ project: projectWith({ dpop: 'off' }) })],
    ['for scopes that the project does not name', () => ({ scope: 'edge:clusters' })],
  ])('%s', async (_, more) => {
    expect(await issue(groundsWith(more()))).toEqual({})
    expect(asked).toEqual([])
  })

  it('without a key: the answer names the scopes of a request with one', async () => {
    expect(await issue(groundsWith({ jkt: undefined }))).toEqual({ lease_scope: 'openid edge:mcm' })
  })

  it('from what was revoked, or has expired', async () => {
    sourceEndsAt = undefined
    expect(await issue(groundsWith())).toEqual({})
    sourceEndsAt = now * 1000
    expect(await issue(groundsWith())).toEqual({})
  })
})
