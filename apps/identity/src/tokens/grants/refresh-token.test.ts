/** The checks of a refresh token, the effects of a refusal, and its entry in the audit log. */

import { generateKeyPairSync } from 'node:crypto'
import { OAuthError } from '@selvedge/protocol'
import { TokenError } from '@selvedge/protocol/tokens'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { signJws } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type GrantStore,
  notingLimits,
  openGrantStore,
  projectOf,
} from '../../../../../tests/harness/grants.ts'
import type { Project } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import type { SignIns } from '../../registry/sign-ins/sign-ins.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import { refreshToken } from './refresh-token.ts'

const sid = '00000000-0000-4000-8000-000000000001'
const end = { endsAt: 4e9, accountId: 'a' }

const clock = createFakeClock()
let opened: GrantStore
let store: SqlStore
let revocations: Revocations
let signIns: SignIns
let audit: Audit
let project: Project
/** Client and account of each request that was counted. */
let counted: string[]
let refuses: boolean
beforeEach(async () => {
  opened = await openGrantStore(clock)
  ;({ store, revocations, signIns, audit } = opened)
  project = projectOf()
  counted = []
  refuses = false
})
afterEach(() => opened.close())

/** A sign-in of a node, with a refresh token for the scopes of the project. */
const begin = (jkt = '', more: { isOfApp?: boolean } = {}) =>
  signIns.begin({
    sid,
    clientId: 'c',
    accountId: 'a',
    personId: '',
    email: 'a@example.com',
    nodeId: 'n',
    origin: 'developer-token',
    scope: 'edge:mcm offline_access',
    audience: 'x',
    jkt,
    authTime: 0,
    epoch: 0,
    described: '',
    ...more,
  })

/** @throws OAuthError | TokenError */
async function answerOf(token: string, form: Record<string, string> = {}, jkt?: string) {
  const grant = refreshToken({
    projects: { find: async (clientId: string) => ({ ...project, clientId }) } as never,
    signIns,
    revocations,
    issueAppId: () => 'app ID token',
    developerTokens: {} as never,
    audit,
    limits: notingLimits(counted, () => refuses) as never,
    issueLease: async () => ({}),
    readUser: async () => ({}),
    mint: ({ scope }) => ({ access_token: 't', token_type: 'Bearer', expires_in: 1, scope }),
  })
  const fields = new Map(Object.entries({ client_id: 'c', refresh_token: token, ...form }))
  return grant.answer(fields, { address: '192.0.2.1', epoch: 0, prove: async () => jkt })
}

/** @returns the next refresh token and the scope, or the code of the refusal */
async function refresh(...of: Parameters<typeof answerOf>) {
  try {
    return await answerOf(...of)
  } catch (cause) {
    if (cause instanceof OAuthError) return cause.code
    if (cause instanceof TokenError) return cause.reason
    throw cause
  }
}
const nextOf = (answer: Awaited<ReturnType<typeof refresh>>) =>
  (answer as { refresh_token: string }).refresh_token
const actions = async () => (await audit.list('a', 100)).map(({ action }) => action)

describe('a refresh token that is used again after its grace', () => {
  it('is in the audit log of the account, with client, sign-in and address', async () => {
    const stolen = await begin()
    await refresh(stolen)
    clock.advance(11_000)
    expect(await refresh(stolen)).toBe('invalid_grant')
    expect(await audit.list('a', 100)).toMatchObject([
      { actor: 'c', action: 'sign_in.reuse', subject: sid, address: '192.0.2.1', outcome: 'refused' },
    ])
    expect((await audit.list('a', 100))[0]!.detail).toContain('the sign-in was revoked')
  })

  it('ends its sign-in, and later attempts add no entry', async () => {
    const stolen = await begin()
    const next = nextOf(await refresh(stolen))
    clock.advance(11_000)
    for (const token of [stolen, stolen, next]) await refresh(token)
    expect(await refresh(next)).toBe('token_revoked')
    expect(await actions()).toEqual(['sign_in.reuse'])
  })

  it('within its grace is neither an event nor the end', async () => {
    const token = await begin()
    const next = nextOf(await refresh(token))
    clock.advance(9000)
    expect(nextOf(await refresh(token))).toBe(next)
    expect(await actions()).toEqual([])
  })
})

describe('costs the owner nothing, and is no event: a refresh token', () => {
  it.each<[what: string, form: Record<string, string>, jkt: string | undefined, code: string]>([
    ['shown by another client', { client_id: 'd' }, 'k', 'invalid_grant'],
    ['without a proof of its key', {}, undefined, 'invalid_grant'],
    ['with a proof of another key', {}, 'other', 'invalid_grant'],
    ['for a scope that was not approved', { scope: 'openid' }, 'k', 'invalid_scope'],
  ])('%s', async (_, form, jkt, code) => {
    const token = await begin('k')
    const next = nextOf(await refresh(token, {}, 'k'))
    clock.advance(11_000)
    // Even of a token that was used before.
    for (const each of [token, next]) expect(await refresh(each, form, jkt)).toBe(code)
    expect(await actions()).toEqual([])
    expect(nextOf(await refresh(next, {}, 'k'))).toMatch(sid)
  })

  it('of a project that may not have refresh tokens any more', async () => {
    const token = await begin()
    project = { ...project, scopes: ['edge:mcm'] }
    expect(await refresh(token)).toBe('invalid_grant')
    project = projectOf()
    expect(nextOf(await refresh(token))).toMatch(sid)
  })

  it('of an app that is for people of another account now', async () => {
    const token = await begin('', { isOfApp: true })
    project = projectOf({ accountId: 'b' })
    await expect(answerOf(token)).rejects.toMatchObject({
      code: 'invalid_grant',
      message: expect.stringContaining('people of its own account'),
    })
    project = projectOf()
    expect(nextOf(await refresh(token))).toMatch(sid)
  })

  it('of a sign-in that has expired', async () => {
    const token = await begin()
    clock.advance(86_400_000)
    await expect(answerOf(token)).rejects.toMatchObject({
      code: 'invalid_grant',
      message: expect.stringContaining('has expired'),
    })
    expect(await actions()).toEqual([])
  })

  it('that came too often', async () => {
    const token = await begin()
    refuses = true
    expect(await refresh(token)).toBe('temporarily_unavailable')
    refuses = false
    expect(nextOf(await refresh(token))).toMatch(sid)
    expect(counted).toEqual(['c a', 'c a'])
  })

  it('of a project that is turned off', async () => {
    const token = await begin()
    project = { ...project, active: false }
    expect(await refresh(token)).toBe('invalid_client')
    project = projectOf()
    expect(nextOf(await refresh(token))).toMatch(sid)
  })
})

describe('a refresh token ends with', () => {
  it.each<[what: string, revoke: () => Promise<unknown>]>([
    ['its sign-in', () => signIns.revoke(sid)],
    ['the developer ID token that it came from', () => revocations.revokeId('developer-token', end)],
    ['its account', () => revocations.revokeAll('account', 'a')],
    ['its client', () => revocations.revokeAll('client', 'c')],
    ['its node', () => revocations.revokeAll('node', 'n')],
  ])('%s', async (_, revoke) => {
    const token = await begin()
    await revoke()
    await expect(answerOf(token)).rejects.toMatchObject({
      reason: 'token_revoked',
      message: expect.stringContaining('the refresh token was revoked'),
    })
  })

  it.each<['account' | 'client' | 'node', string]>([
    ['account', 'a'],
    ['client', 'c'],
    ['node', 'n'],
  ])('its %s, also where the list of revocations does not say so', async (kind, subject) => {
    const token = await begin()
    await revocations.revokeAll(kind, subject)
    await store.run(sql`DELETE FROM revocations`)
    expect((await signIns.rotate(token)).outcome).toBe('revoked')
  })
})
it.each<[what: string, revoke: () => Promise<unknown>]>([
  ['itself', () => revocations.revokeId(sid, end)],
  ['the developer ID token that it comes from', () => revocations.revokeId('developer-token', end)],
  ['its account', () => revocations.revokeAll('account', 'a')],
  ['its client', () => revocations.revokeAll('client', 'c')],
  ['its node', () => revocations.revokeAll('node', 'n')],
])('a sign-in does not begin after the end of %s, which its checks did not see', async (_, revoke) => {
  await revoke()
  await expect(begin()).rejects.toMatchObject({ code: 'invalid_grant' })
})

it('what is no refresh token of this service is refused', async () => {
  const token = await begin()
  const forged = token.slice(0, -3) + (token.endsWith('AAA') ? 'BBB' : 'AAA')
  for (const each of [forged, 'x', token.replace('.0.', '.1.')])
    expect(await refresh(each)).toBe('invalid_grant')
  expect(await actions()).toEqual([])
})

it('a refusal names a token of another kind, and how to get a refresh token', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const access = signJws({ typ: 'at+jwt', kid: 'k' }, {}, privateKey)
  await expect(answerOf(access)).rejects.toThrow(/^this is an access token .* needs a refresh token/)
  const forged = `${sid}.0.${'A'.repeat(43)}`
  for (const each of ['x', forged])
    await expect(answerOf(each)).rejects.toThrow('this service did not issue the refresh token')
})
