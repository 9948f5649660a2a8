import { OAuthError } from '@selvedge/protocol'
import {
  type DeveloperIdClaims,
  developerIdProfile,
  type EdgeIdClaims,
  edgeAudience,
  edgeIdProfile,
} from '@selvedge/protocol/tokens'
import { seconds } from '@selvedge/service-kit/clock'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import { beforeEach, describe, expect, it } from 'vitest'
import { createTestIssuer, outcomeOfAnswer, projectOf } from '../../../../../tests/harness/grants.ts'
import type { Project } from '../../registry/projects/projects.ts'
import { createExchange } from './exchange.ts'

const clock = createFakeClock()
const { issuer, privateKey, verifier } = createTestIssuer(clock)
const common = { iss: issuer, iat: seconds(clock), exp: seconds(clock) + 600 }
const developer = {
  ...common,
  sub: 'a',
  aud: 'c',
  jti: 'developer',
  account_id: 'a',
  email: 'a@example.com',
  auth_time: 0,
} as DeveloperIdClaims
const nodeId = 'b'.repeat(56)
const edge = {
  ...common,
  sub: 'a',
  aud: issuer,
  jti: 'edge',
  node_id: nodeId,
  node_name: 'n',
  cnf: { jkt: 'x' },
} as EdgeIdClaims

let project: Project
let node: { blockedAt: number | null } | undefined
/** Identifiers of tokens that were revoked; the client counts for the developer ID token. */
let revoked: string[]
let counted: string[]
let refuses: boolean
let begun: Record<string, unknown>[]
/** Identifiers of the developer ID tokens that were noted as used. */
let used: string[]
let minted: Record<string, unknown>[]
beforeEach(() => {
  project = projectOf({ resources: ['https://backend.example'] })
  node = { blockedAt: null }
  revoked = []
  counted = []
  refuses = false
  begun = []
  used = []
  minted = []
})

const exchange = createExchange({
  issuer: () => issuer,
  projects: { find: async () => project } as never,
  nodes: { find: async () => node } as never,
  issueLease: async () => ({}),
  developerTokens: { noteUse: (jti: string) => used.push(jti) } as never,
  revocations: {
    reasonFor: ({ jti }: { jti: string }, clientId: string) =>
      revoked.includes(jti) || revoked.includes(clientId) ? 'revoked' : undefined,
    edgeReasonFor: ({ jti }: { jti: string }) => (revoked.includes(jti) ? 'revoked' : undefined),
  } as never,
  signIns: {
    begin: async (signIn: Record<string, unknown>) => {
      begun.push(signIn)
      return 'refresh'
    },
  } as never,
  limits: {
    takeFor(clientId: string, accountId: string) {
      counted.push(`${clientId} ${accountId}`)
      if (refuses) throw new OAuthError('temporarily_unavailable', 'too many')
    },
  } as never,
  mint: (grounds) => {
    minted.push({ ...grounds })
    return { access_token: 't', token_type: 'Bearer', expires_in: 1, scope: grounds.scope }
  },
  trustedIssuers: { of: () => ({ rules: [] }) },
  federatedSubjects: { noteUse: () => undefined },
  federation: { readClaimed: () => undefined, letIn: () => expect.unreachable() },
  developerVerifier: verifier,
  edgeVerifier: verifier,
  trust: {
    foreignReasonAgainst: async ({ jti }) => (revoked.includes(`foreign ${jti}`) ? 'revoked' : undefined),
  },
})

interface Changes {
  isActive?: boolean
  revoked?: string[]
  /** null: the node is not known. */
  node?: { blockedAt: number } | null
  developer?: object
  edge?: object
  request?: object
  prove?: () => Promise<string | undefined>
}
const outcomeOf = (changes?: Changes) => outcomeOfAnswer(() => answerOf(changes))

/** @throws OAuthError | TokenError */
async function answerOf(changes: Changes = {}) {
  const { developer: ofDeveloper, edge: ofEdge, request, prove } = changes
  project = { ...project, active: changes.isActive ?? true }
  if (changes.node !== undefined) node = changes.node ?? undefined
  revoked = changes.revoked ?? []
  return exchange(
    {
      clientId: 'c',
      developerToken: signJws(
        { typ: developerIdProfile.typ, kid: 'k' },
        { ...developer, ...ofDeveloper },
        privateKey,
      ),
      edgeToken: signJws({ typ: edgeIdProfile.typ, kid: 'k' }, { ...edge, ...ofEdge }, privateKey),
      scope: 'openid edge:mcm',
      resource: undefined,
      ...request,
    },
    { address: '192.0.2.1', epoch: 7, prove: prove ?? (async () => undefined) },
  )
}

it('what lacks nothing gives a token of that account, client, node and sign-in', async () => {
  await answerOf()
  const access = { accountId: 'a', project, nodeId, scope: 'openid edge:mcm', sid: 'developer', epoch: 7 }
  expect(minted).toEqual([expect.objectContaining({ ...access, jkt: undefined })])
  expect([begun, used]).toEqual([[], ['developer']])
})

it('an answer has the developer ID token for openid, and a refresh token for offline_access', async () => {
  const answer = { access_token: 't', token_type: 'Bearer', expires_in: 1 }
  expect(await answerOf({ request: { scope: 'edge:mcm' } })).toEqual({ ...answer, scope: 'edge:mcm' })
  expect(await answerOf({ request: { scope: 'openid' } })).toEqual({
    ...answer,
    scope: 'openid',
    id_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  })
  expect(await answerOf({ request: { scope: 'offline_access' } })).toEqual({
    ...answer,
    scope: 'offline_access',
    refresh_token: 'refresh',
  })
})

describe('an exchange is refused', () => {
  it.each<[why: string, change: Changes, code: string]>([
    ['of a project that is turned off', { isActive: false }, 'invalid_client'],
    ['for a scope that the project may not have', { request: { scope: 'edge:clusters' } }, 'invalid_scope'],
    ['for a scope that the person did not approve', { developer: { scope: 'openid' } }, 'invalid_scope'],
    [
      'for a resource of another project',
      { request: { resource: 'https://other.example' } },
      'invalid_target',
    ],
    ['with a developer ID token for another client', { developer: { aud: 'd' } }, 'token_untrusted'],
    ['with a developer ID token that expired', { developer: { iat: 1, exp: 2 } }, 'token_expired'],
    ['with a developer ID token that was revoked', { revoked: ['developer'] }, 'token_revoked'],
    ['of a client after its tokens were revoked', { revoked: ['c'] }, 'token_revoked'],
    [
      'with an edge ID token for another service',
      { edge: { aud: 'https://other.example' } },
      'token_untrusted',
    ],
    ['with an edge ID token that expired', { edge: { iat: 1, exp: 2 } }, 'token_expired'],
    ['with an edge ID token that was revoked', { revoked: ['edge'] }, 'token_revoked'],
    ['with an edge ID token that its own issuer revoked', { revoked: ['foreign edge'] }, 'token_revoked'],
    ['for a node that is not known', { node: null }, 'token_untrusted'],
    ['for a node that is blocked', { node: { blockedAt: 1 } }, 'token_revoked'],
    [
      'without the proof that the project requires',
      { prove: () => Promise.reject(new OAuthError('invalid_dpop_proof', 'no proof')) },
      'invalid_dpop_proof',
    ],
  ])('%s, and counts for no client and no account', async (_, change, code) => {
    expect(await outcomeOf(change)).toBe(code)
    expect([minted, begun, counted]).toEqual([[], [], []])
  })

  it('that comes too often, before anything is made', async () => {
    refuses = true
    expect(await outcomeOf({ request: { scope: 'openid offline_access' } })).toBe('temporarily_unavailable')
    expect([minted, begun]).toEqual([[], []])
  })
})

it.each([
  ['developer', 'the developer ID token was revoked'],
  ['foreign edge', 'the edge ID token was revoked'],
])('a refusal names the token that was revoked: %s', async (id, why) => {
  await expect(answerOf({ revoked: [id] })).rejects.toThrow(why)
})

it('counts for the client of the request, and the account of the developer ID token', async () => {
  await outcomeOf({ developer: { account_id: 'b', sub: 'b' } })
  expect(counted).toEqual(['c b'])
})

it('a refresh token belongs to a sign-in that ends with what it came from', async () => {
  await outcomeOf({ request: { scope: 'openid offline_access' }, prove: async () => 'key' })
  expect(begun).toEqual([
    {
      sid: expect.stringMatching(/^[\da-f-]{36}$/),
      clientId: 'c',
      accountId: 'a',
      personId: '',
      email: 'a@example.com',
      nodeId,
      origin: 'developer',
      scope: 'openid offline_access',
      audience: edgeAudience,
      jkt: 'key',
      authTime: 0,
      epoch: 7,
      described: 'n from 192.0.2.1',
    },
  ])
  expect(minted).toEqual([expect.objectContaining({ sid: begun[0]!.sid, jkt: 'key' })])
  await outcomeOf({ developer: { sid: 'sign-in' }, request: { scope: 'openid offline_access' } })
  expect(begun[1]).toMatchObject({ origin: 'sign-in', jkt: '' })
})
