/** How an app redeems an authorization code: what uses it up, what refuses it, and what a second redemption revokes. */
import { hash } from 'node:crypto'
import { type SqlStore, sql } from '@selvedge/service-kit/store'
import { createFakeClock } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type GrantStore,
  notingLimits,
  openGrantStore,
  outcomeOfAnswer,
  projectOf,
} from '../../../../../tests/harness/grants.ts'
import type { Project } from '../../registry/projects/projects.ts'
import type { Revocations } from '../../registry/revocation/revocations.ts'
import {
  type AuthorizationCodes,
  createAuthorizationCodes,
} from '../../registry/sign-ins/authorization-codes.ts'
import type { SignIns } from '../../registry/sign-ins/sign-ins.ts'
import type { Audit } from '../../storage/audit/audit.ts'
import { authorizationCode } from './authorization-code.ts'

const clock = createFakeClock()
const verifier = 'v'.repeat(43)
const redirectUri = 'https://app.example/signed-in'
const resource = 'https://backend.example'
const authorized = {
  accountId: 'a',
  personId: 'ada',
  email: 'ada@example.com',
  authTime: 5,
  clientId: 'c',
  redirectUri,
  challenge: hash('sha256', verifier, 'base64url'),
  jkt: '',
  scope: 'openid edge:mcm offline_access',
  audience: ['https://identity.example', resource],
  nonce: 'n',
  nodeId: 'node',
  described: 'Firefox',
}

let opened: GrantStore
let store: SqlStore
let revocations: Revocations
let signIns: SignIns
let codes: AuthorizationCodes
let audit: Audit
let project: Project
/** Number of the newest change when the person approved. */
let epoch: number
/** Client and account of each request that was counted. */
let counted: string[]
let refuses: boolean
let minted: object[]
let issued: object[]
let leased: object[]
beforeEach(async () => {
  opened = await openGrantStore(clock)
  ;({ store, revocations, signIns, audit } = opened)
  codes = createAuthorizationCodes(store, clock, () => epoch, revocations)
  await store.transaction([
    sql`INSERT INTO accounts (account_id, email, created_at) VALUES ('a', 'a@example.com', 0)`,
    sql`INSERT INTO people (person_id, email, password, created_at) VALUES ('ada', 'ada@example.com', '', 0)`,
    sql`INSERT INTO members VALUES ('a', 'ada', 'owner', 0)`,
  ])
  project = projectOf()
  epoch = 4
  counted = []
  refuses = false
  minted = []
  issued = []
  leased = []
})
afterEach(() => opened.close())

const issue = (change: Partial<typeof authorized> = {}) =>
  codes.create({ ...authorized, ...change }, () => [])
/** Without the key of a field, the field is absent. */
type Form = Readonly<Record<string, string | undefined>>

/** @param around changes parts of the grant @throws OAuthError | TokenError */
async function redeem(code: string, form: Form = {}, jkt?: string, around: object = {}) {
  const grant = authorizationCode({
    projects: {
      find: async (clientId: string) => (clientId === 'gone' ? undefined : { ...project, clientId }),
    } as never,
    authorizationCodes: codes,
    signIns,
    revocations,
    developerTokens: {} as never,
    audit,
    limits: notingLimits(counted, () => refuses) as never,
    readUser: async ({ personId }) => ({ user: { name: personId, groups: [] } }),
    issueAppId(grounds) {
      issued.push(grounds)
      return 'app ID token'
    },
    async issueLease(grounds) {
      leased.push(grounds)
      return { lease: 'lease', lease_expires_in: 9 }
    },
    mint(grounds) {
      minted.push(grounds)
      return { access_token: 't', token_type: 'Bearer', expires_in: 60, scope: grounds.scope }
    },
    ...around,
  })
  const fields = { client_id: 'c', code, redirect_uri: redirectUri, code_verifier: verifier, ...form }
  const stated = Object.entries(fields).filter((each): each is [string, string] => each[1] !== undefined)
  return grant.answer(new Map(stated), { address: '192.0.2.1', epoch: 9, prove: async () => jkt })
}
const outcomeOf = (...of: Parameters<typeof redeem>) => outcomeOfAnswer(() => redeem(...of))
const messageOf = (...of: Parameters<typeof redeem>) =>
  redeem(...of).then(
    () => 'accepted',
    (cause: Error) => cause.message,
  )
const revokedFor = (sid: string) =>
  revocations.reasonFor({ jti: sid, iat: clock.now() / 1000, account_id: 'a', client_id: 'c' })

it('gives the tokens of what the person approved', async () => {
  const code = await issue()
  const { sid } = (await codes.find(code))!
  const { refresh_token: refreshToken, ...tokens } = await redeem(code, { resource })
  expect(tokens).toEqual({
    access_token: 't',
    token_type: 'Bearer',
    expires_in: 60,
    scope: authorized.scope,
    id_token: 'app ID token',
    lease: 'lease',
    lease_expires_in: 9,
  })
  const of = { accountId: 'a', authTime: 5, audience: authorized.audience, sid, nodeId: 'node' }
  const grounds = {
    project,
    ...of,
    scope: authorized.scope,
    // The checks of the approval used data of then.
    epoch: 4,
    jkt: undefined,
    subject: 'ada',
    user: { name: 'ada', groups: [] },
  }
  expect([minted, leased]).toStrictEqual([[grounds], [grounds]])
  expect(issued).toEqual([expect.objectContaining({ nonce: 'n', accessToken: 't', epoch: 4 })])
  expect(await signIns.find(refreshToken!)).toMatchObject({
    ...of,
    clientId: 'c',
    personId: 'ada',
    email: 'ada@example.com',
    scope: authorized.scope,
    origin: '',
    jkt: '',
    epoch: 4,
    described: 'Firefox',
    isOfApp: true,
  })
  expect(counted).toEqual(['c a'])
})

it('gives no refresh token and no lease without offline_access', async () => {
  const code = await issue({ scope: 'openid', nonce: '' })
  expect(await redeem(code)).toEqual({
    access_token: 't',
    token_type: 'Bearer',
    expires_in: 60,
    scope: 'openid',
    id_token: 'app ID token',
  })
  expect(leased).toEqual([])
  expect(issued[0]).not.toHaveProperty('nonce')
})

it('binds what it gives to the key that is proven', async () => {
  const { refresh_token: refreshToken } = await redeem(await issue(), {}, 'key')
  expect(minted).toEqual([expect.objectContaining({ jkt: 'key' })])
  expect(await signIns.find(refreshToken!)).toMatchObject({ jkt: 'key' })
})

describe('a request that is not the one of the app uses nothing up', () => {
  const refused: readonly [string, Form, string, RegExp][] = [
    ['an unknown code', { code: 'x' }, 'invalid_grant', /code is unknown/],
    ['another client', { client_id: 'other' }, 'invalid_grant', /issued to another client/],
    ['a client that is not there', { client_id: 'gone' }, 'invalid_client', /./],
    ['another redirect URI', { redirect_uri: `${redirectUri}/` }, 'invalid_grant', /redirect_uri is not/],
    ['another verifier', { code_verifier: 'w'.repeat(43) }, 'invalid_grant', /does not fit/],
    ['a short verifier', { code_verifier: 'v'.repeat(42) }, 'invalid_grant', /43 to 128/],
    ['a long verifier', { code_verifier: 'v'.repeat(129) }, 'invalid_grant', /43 to 128/],
    ['a verifier with a line', { code_verifier: `${verifier}\n` }, 'invalid_grant', /43 to 128/],
    ['a verifier after others', { code_verifier: ` ${verifier}` }, 'invalid_grant', /43 to 128/],
    ['another resource', { resource: 'https://other.example' }, 'invalid_target', /resource is not one/],
    ['no code', { code: undefined }, 'invalid_request', /"code"/],
    ['no redirect URI', { redirect_uri: undefined }, 'invalid_request', /"redirect_uri"/],
    ['no verifier', { code_verifier: undefined }, 'invalid_request', /"code_verifier"/],
    ['no client', { client_id: undefined }, 'invalid_request', /"client_id"/],
  ]
  it.each(refused)('with %s', async (_, form, outcome, message) => {
    const code = await issue()
    expect(await outcomeOf(code, form)).toBe(outcome)
    expect(await messageOf(code, form)).toMatch(message)
    expect([counted, minted]).toEqual([[], []])
    expect(await outcomeOf(code)).toBe('accepted')
  })

  it('without the key that the code is bound to, or with another one', async () => {
    const code = await issue({ jkt: 'key' })
    for (const jkt of [undefined, '', 'other']) {
      expect(await outcomeOf(code, {}, jkt)).toBe('invalid_grant')
      expect(await messageOf(code, {}, jkt)).toMatch(/bound to a key/)
    }
    expect(await outcomeOf(code, {}, 'key')).toBe('accepted')
  })

  it('while the client is switched off, or is over its limit', async () => {
    const code = await issue()
    project = { ...project, active: false }
    expect(await outcomeOf(code)).toBe('invalid_client')
    project = { ...project, active: true }
    refuses = true
    expect(await outcomeOf(code)).toBe('temporarily_unavailable')
    refuses = false
    expect(await outcomeOf(code)).toBe('accepted')
  })
})

it.each(['~', '.', '-', '_', '9', 'Z'])('a verifier may have the character %s', async (character) => {
  const of = character.repeat(128)
  const code = await issue({ challenge: hash('sha256', of, 'base64url') })
  expect(await outcomeOf(code, { code_verifier: of })).toBe('accepted')
})

it('one resource of the request may be named where it had a single one', async () => {
  const code = await issue({ audience: resource as never })
  expect(await outcomeOf(code, { resource })).toBe('accepted')
})

describe('since the approval', () => {
  it('the code expired: it is unknown', async () => {
    const code = await issue()
    clock.advance(60_000)
    expect(await messageOf(code)).toMatch(/code is unknown, or has expired/)
    expect(minted).toEqual([])
  })

  it('the person left the account: the code is worth nothing', async () => {
    const code = await issue()
    await store.run(sql`DELETE FROM members`)
    expect(await messageOf(code)).toMatch(/code is unknown, or has expired/)
    expect(minted).toEqual([])
  })

  it('everything of the account was revoked', async () => {
    epoch = 0
    const code = await issue()
    await revocations.revokeAll('account', 'a')
    expect(await outcomeOf(code)).toBe('token_revoked')
    expect(minted).toEqual([])
  })

  it('the app became one for another account only', async () => {
    const code = await issue()
    project = { ...project, accountId: 'b' }
    expect(await outcomeOf(code)).toBe('invalid_grant')
    expect(await messageOf(code)).toMatch(/people of its own account/)
    expect(minted).toEqual([])
  })
})

describe('a code that comes a second time', () => {
  it('revokes what was issued for it, and is in the audit log', async () => {
    const code = await issue()
    const { sid } = (await codes.find(code))!
    await redeem(code)
    expect(revokedFor(sid)).toBeUndefined()
    expect(await messageOf(code)).toMatch(/used before, so what was issued for it is revoked/)
    expect(await outcomeOf(code)).toBe('invalid_grant')
    expect(revokedFor(sid)).toBeDefined()
    expect(minted).toHaveLength(1)
    expect((await audit.list('a', 100))[0]).toMatchObject({
      actor: 'c',
      action: 'authorization_code.reuse',
      subject: sid,
      address: '192.0.2.1',
      outcome: 'refused',
    })
  })

  it('without its verifier revokes nothing', async () => {
    const code = await issue()
    const { sid } = (await codes.find(code))!
    await redeem(code)
    expect(await messageOf(code, { code_verifier: 'w'.repeat(43) })).toMatch(/does not fit/)
    expect(revokedFor(sid)).toBeUndefined()
  })

  it('at the moment at which it expires is unknown', async () => {
    const code = await issue()
    const use = async () => {
      clock.advance(60_000)
      return false
    }
    expect(await messageOf(code, {}, undefined, { authorizationCodes: { ...codes, use } })).toMatch(
      /code is unknown, or has expired/,
    )
  })

  it('at the same moment revokes, too: one of two gets tokens, which are revoked', async () => {
    const code = await issue()
    const { sid } = (await codes.find(code))!
    // The other one uses the code up between our check and our use.
    const use = async (text: string) => {
      await codes.use(text)
      return codes.use(text)
    }
    expect(await messageOf(code, {}, undefined, { authorizationCodes: { ...codes, use } })).toMatch(
      /used before, so what was issued/,
    )
    expect(revokedFor(sid)).toBeDefined()
    expect(minted).toEqual([])
  })
})
