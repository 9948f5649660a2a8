import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Project } from '../../registry/projects/projects.ts'
import { createMint, type Grounds, type Mint } from './mint.ts'

const clock = createFakeClock()
const now = seconds(clock)
let mint: Mint
beforeEach(() => {
  mint = createMint({
    clock,
    keys: { sign: (typ: string, claims: object) => JSON.stringify({ typ, ...claims }) } as never,
    issuer: () => 'https://identity.example',
    lifetimeSeconds: 600,
  })
})
const project = { clientId: 'c', accessLifetime: 0 } as Project
const grounds = {
  project,
  accountId: 'a',
  authTime: 5,
  scope: 'openid edge:mcm',
  audience: ['edge', 'https://backend.example'],
  sid: 's',
  epoch: 7,
  nodeId: 'n',
  jkt: 'key',
}
const person = {
  subject: 'ada',
  user: { name: 'ada@example.com', groups: [{ id: 'm', name: 'staff' }] },
  shares: { account_id: 'b', services: [{ id: 's', service: 'camera', until: 9 }] },
}
const claimsOf = (changes: Partial<Grounds> = {}) => JSON.parse(mint({ ...grounds, ...changes }).access_token)

describe('an access token', () => {
  it('names its issuer, subject, client, node, sign-in and key', () => {
    const { jti, ...claims } = claimsOf()
    expect(claims).toEqual({
      typ: 'at+jwt',
      iss: 'https://identity.example',
      sub: 'a',
      aud: ['edge', 'https://backend.example'],
      client_id: 'c',
      azp: 'c',
      scope: 'openid edge:mcm',
      iat: now,
      exp: now + 600,
      auth_time: 5,
      account_id: 'a',
      sid: 's',
      epoch: 7,
      node_id: 'n',
      act: { sub: 'n' },
      cnf: { jkt: 'key' },
    })
    expect(claimsOf().jti).not.toBe(jti)
  })

  it('of a person alone names no node', () => {
    const claims = claimsOf({ nodeId: undefined })
    expect([Object.hasOwn(claims, 'node_id'), Object.hasOwn(claims, 'act')]).toEqual([false, false])
  })

  it('of a person of an app names the person, with groups and what is shared', () => {
    const { subject: sub, user, shares } = person
    expect(claimsOf(person)).toMatchObject({ sub, user, shares, account_id: 'a' })
    expect(claimsOf({ user })).not.toHaveProperty('shares')
    expect(claimsOf()).not.toHaveProperty('user')
  })

  it('is bound to the key that the caller proved, and has the type DPoP then', () => {
    expect(mint(grounds)).toMatchObject({ token_type: 'DPoP', expires_in: 600, scope: 'openid edge:mcm' })
    expect(mint({ ...grounds, jkt: undefined }).token_type).toBe('Bearer')
    expect(claimsOf({ jkt: undefined })).not.toHaveProperty('cnf')
  })

  it('lives as long as its project wants', () => {
    const long = { ...project, accessLifetime: 1200 }
    expect(claimsOf({ project: long }).exp).toBe(now + 1200)
    expect(mint({ ...grounds, project: long }).expires_in).toBe(1200)
  })
})
