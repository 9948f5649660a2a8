import { OAuthError } from '@selvedge/protocol'
import {
  type DeveloperIdClaims,
  developerIdProfile,
  type EdgeIdClaims,
  edgeAudience,
  edgeIdProfile,
  TokenError,
} from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import { describe, expect, it } from 'vitest'
import { createTestIssuer, projectOf } from '../../../../../tests/harness/grants.ts'
import type { Node, Nodes } from '../../registry/nodes/nodes.ts'
import type { Project, Projects } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import { checkClientActive } from './client-active.ts'
import { checkDeveloperToken } from './developer-token.ts'
import { checkEdgeToken } from './edge-token.ts'
import { checkNodeAllowed } from './node-allowed.ts'
import { checkEdgeNotRevoked, checkNotRevoked } from './not-revoked.ts'
import { checkResourceAllowed } from './resource-allowed.ts'
import { checkScopeAllowed } from './scope-allowed.ts'
import { checkScopeApproved } from './scope-approved.ts'

const codeOf = async (check: () => unknown): Promise<string> => {
  try {
    await check()
    return 'accepted'
  } catch (cause) {
    if (cause instanceof OAuthError) return cause.code
    return cause instanceof TokenError ? cause.reason : String(cause)
  }
}

const project = projectOf({
  clientId: 'c1',
  scopes: ['openid', 'edge:mcm'],
  resources: ['https://backend.example'],
})
const clock = createFakeClock()
const { issuer, privateKey, verifier } = createTestIssuer(clock)
const now = seconds(clock)
const developer: DeveloperIdClaims = {
  iss: issuer,
  sub: 'a',
  aud: 'c1',
  iat: now,
  exp: now + 100,
  jti: 'j',
  account_id: 'a',
  email: 'a@example.com',
  auth_time: now,
}
const edge: EdgeIdClaims = {
  iss: issuer,
  sub: '',
  aud: issuer,
  iat: now,
  exp: now + 100,
  jti: 'j',
  node_id: 'a'.repeat(56),
  node_name: 'n',
  cnf: { jkt: 'x' },
}
const signed = (typ: string, claims: object) => signJws({ typ, kid: 'k' }, claims, privateKey)

describe('client-active', () => {
  const projects = (found: Project | undefined) => ({ find: async () => found }) as unknown as Projects
  it.each([
    ['an active project', 'accepted', project],
    ['a project that is turned off', 'invalid_client', { ...project, active: false }],
    ['no project', 'invalid_client', undefined],
  ])('%s: %s', async (_, expected, found) => {
    expect(await codeOf(() => checkClientActive(projects(found), 'c1'))).toBe(expected)
  })
})

describe('developer-token', () => {
  const check = (claims: object, typ = developerIdProfile.typ) =>
    codeOf(() => checkDeveloperToken(verifier, signed(typ, claims), 'c1'))
  it('accepts one for this client', async () => expect(await check(developer)).toBe('accepted'))
  it('refuses one for another client', async () =>
    expect(await check({ ...developer, aud: 'c2' })).toBe('token_untrusted'))
  it('refuses one of another tenant', async () =>
    expect(await check({ ...developer, iss: 'https://other.example' })).toBe('token_untrusted'))
  it('refuses another kind of token', async () =>
    expect(await check(developer, 'at+jwt')).toBe('token_untrusted'))
})

describe('not-revoked', () => {
  const revoked = (gone: string) =>
    ({
      reasonFor: ({ jti }: { jti: string }) => (jti === gone ? 'gone' : undefined),
    }) as unknown as Revocations
  it('accepts a token that is not revoked', async () =>
    expect(await codeOf(() => checkNotRevoked(revoked('other'), developer, 'token'))).toBe('accepted'))
  it('refuses one that was', async () =>
    expect(await codeOf(() => checkNotRevoked(revoked(developer.jti), developer, 'token'))).toBe(
      'token_revoked',
    ))
  it('checks the client that the caller names', () => {
    const reasonFor = (_: unknown, clientId?: string) => (clientId === 'c1' ? 'gone' : undefined)
    expect(() => checkNotRevoked({ reasonFor }, developer, 'token', 'c1')).toThrow(/gone/)
    expect(() => checkNotRevoked({ reasonFor }, developer, 'token')).not.toThrow()
  })
  it('refuses an edge ID token that was revoked', () => {
    const edgeReasonFor = ({ jti }: { jti: string }) => (jti === edge.jti ? 'gone' : undefined)
    expect(() => checkEdgeNotRevoked({ edgeReasonFor }, edge)).toThrow(/gone/)
    expect(() => checkEdgeNotRevoked({ edgeReasonFor }, { ...edge, jti: 'other' })).not.toThrow()
  })
})

describe('scope-approved', () => {
  it('checks nothing if no list was approved', async () =>
    expect(await codeOf(() => checkScopeApproved({}, 'openid edge:mcm'))).toBe('accepted'))
  it('accepts a part of the approved scopes', async () =>
    expect(await codeOf(() => checkScopeApproved({ scope: 'openid edge:mcm' }, 'edge:mcm'))).toBe('accepted'))
  it('refuses more', async () =>
    expect(await codeOf(() => checkScopeApproved({ scope: 'openid' }, 'openid edge:mcm'))).toBe(
      'invalid_scope',
    ))
})

describe('edge-token', () => {
  const check = (claims: object) =>
    codeOf(() => checkEdgeToken(verifier, signed(edgeIdProfile.typ, claims), issuer))
  it('accepts one of a trusted cloud', async () => expect(await check(edge)).toBe('accepted'))
  it('refuses one of a cloud that is not trusted', async () =>
    expect(await check({ ...edge, iss: 'https://cloud.example' })).toBe('token_untrusted'))
  it('refuses one for another tenant', async () =>
    expect(await check({ ...edge, aud: 'https://tenant.example' })).toBe('token_untrusted'))
})

describe('node-allowed', () => {
  const nodes = (blockedAt: number | null | undefined) =>
    ({
      find: async () => (blockedAt === undefined ? undefined : ({ blockedAt } as Node)),
    }) as unknown as Nodes
  it('accepts a known node', async () =>
    expect(await codeOf(() => checkNodeAllowed(nodes(null), edge, issuer))).toBe('accepted'))
  it('refuses a node that is blocked', async () =>
    expect(await codeOf(() => checkNodeAllowed(nodes(1), edge, issuer))).toBe('token_revoked'))
  it('refuses a node that this cloud does not know', async () =>
    expect(await codeOf(() => checkNodeAllowed(nodes(undefined), edge, issuer))).toBe('token_untrusted'))
  it('believes another cloud that it knows its node', async () =>
    expect(await codeOf(() => checkNodeAllowed(nodes(undefined), edge, 'https://tenant.example'))).toBe(
      'accepted',
    ))
})

describe('scope-allowed', () => {
  it.each([
    ['openid', 'openid'],
    ['edge:mcm openid', 'edge:mcm openid'],
    ['openid openid', 'openid'],
  ])('%j is granted as %j', (asked, granted) => expect(checkScopeAllowed(project, asked)).toBe(granted))
  it.each(['edge:clusters', 'admin', '', ' openid', 'openid ', 'openid\tedge:mcm', 'toString'])(
    '%j is refused',
    async (asked) => {
      expect(await codeOf(() => checkScopeAllowed(project, asked))).toBe('invalid_scope')
    },
  )
  it('a refusal reports whether the scope exists', () => {
    expect(() => checkScopeAllowed(project, 'openid admin')).toThrow('"admin" is no scope')
    expect(() => checkScopeAllowed(project, 'openid edge:clusters')).toThrow(
      'the project may not ask for "edge:clusters"',
    )
  })
})

describe('resource-allowed', () => {
  it('gives the edge alone, or the edge and a resource of the project', () => {
    expect(checkResourceAllowed(project, undefined)).toBe(edgeAudience)
    expect(checkResourceAllowed(project, edgeAudience)).toBe(edgeAudience)
    expect(checkResourceAllowed(project, 'https://backend.example')).toEqual([
      edgeAudience,
      'https://backend.example',
    ])
  })
  it.each(['https://backend.example/', 'https://other.example', ''])('refuses %j', async (asked) => {
    expect(await codeOf(() => checkResourceAllowed(project, asked))).toBe('invalid_target')
  })
})
