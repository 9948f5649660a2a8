/** Sign-in with the provider of a company: what the request has, which answers count, and what is believed of an ID token. */
import { createHmac } from 'node:crypto'
import { TokenError } from '@selvedge/protocol/tokens'
import { createFakeClock, openMemoryStore } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createOneTime } from '../../registry/credentials/one-time.ts'
import type { Company } from '../../registry/people/companies.ts'
import { migrations } from '../../storage/schema.ts'
import { type CompanySignIns, createCompanySignIns } from './company-sign-in.ts'
import * as library from './openid-client.lazy.ts'

const clock = createFakeClock()
const start = clock.now()
const now = start / 1000
const secret = Buffer.alloc(32, 7)
const company = {
  ...{ companyId: 'id', accountId: 'a', domain: 'corp.example', issuer: 'https://login.corp.example' },
  ...{ clientId: 'client', clientAuth: 'none', isRequired: false, allowsPrivate: false, createdAt: '' },
  rules: [
    { claim: 'groups', value: 'staff', role: 'member' },
    { claim: 'groups', value: 'admins', role: 'owner' },
  ],
} as Company
const callback = 'https://console.example/sign-in/corp.example/callback'

let store: ReturnType<typeof openMemoryStore>
let signIns: CompanySignIns
let present: Company | undefined
let claims: Record<string, unknown>
let granted: { url: string; checks: Record<string, unknown> }[]
let verified: { rules: unknown; token: string; accountId: string }[]
let clientFailure: Error | undefined
let grantFailure: unknown

beforeEach(() => {
  clock.set(start)
  store = openMemoryStore(migrations)
  present = company
  claims = { iss: company.issuer, aud: 'client', sub: 'grace' }
  granted = []
  verified = []
  clientFailure = undefined
  grantFailure = undefined
  const metadata = { issuer: company.issuer, authorization_endpoint: 'https://login.corp.example/authorize' }
  const own = {
    ...library,
    async authorizationCodeGrant(_: unknown, url: URL, checks: Record<string, unknown>) {
      granted.push({ url: url.href, checks })
      if (grantFailure) throw grantFailure
      return { id_token: 'id token' }
    },
  }
  signIns = createCompanySignIns({
    ...{ clock, secret, oneTime: createOneTime(store, clock), consoleUrl: () => 'https://console.example' },
    companies: { byId: async (id) => (id === 'id' ? present : undefined) },
    async client() {
      if (clientFailure) throw clientFailure
      return { library: own as never, config: new library.Configuration(metadata as never, 'client') }
    },
    async verify(rules, token, accountId) {
      verified.push({ rules, token, accountId })
      return claims as never
    },
  })
})
afterEach(() => store.close())

type Visitor = Parameters<CompanySignIns['begin']>[1]
const visitor: Visitor = { jkt: 'key', purpose: 'sign_in', personId: '', loginHint: '' }
const begin = async (more: Partial<Visitor> = {}) =>
  new URL(await signIns.begin(company, { ...visitor, ...more }))
async function finish(more: Partial<Visitor> = {}, { domain = 'corp.example', jkt = 'key' } = {}) {
  const state = (await begin(more)).searchParams.get('state')
  return signIns.finish(domain, `code=x&state=${state}`, jkt)
}
const derived = (what: string, state: string) =>
  createHmac('sha256', secret).update(`${what} ${state}`).digest('base64url')

describe('the request to a provider', () => {
  it('has a state, and a nonce and a PKCE challenge that only this installation can derive from it', async () => {
    const url = await begin()
    expect(url.origin + url.pathname).toBe('https://login.corp.example/authorize')
    const state = url.searchParams.get('state')!
    expect(state).toMatch(/^[\w-]{43}$/)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      ...{
        client_id: 'client',
        redirect_uri: callback,
        response_type: 'code',
        scope: 'openid email profile',
      },
      ...{ state, nonce: derived('nonce', state), code_challenge_method: 'S256' },
      code_challenge: await library.calculatePKCECodeChallenge(derived('verifier', state)),
    })
    expect(signIns.redirectUri('corp.example')).toBe(callback)
    expect((await begin()).searchParams.get('state')).not.toBe(state)
  })

  it('requests a fresh sign-in to confirm or to link, and shows the address that the person gave', async () => {
    for (const purpose of ['confirm', 'link'] as const)
      expect((await begin({ purpose })).searchParams.get('max_age')).toBe('0')
    expect((await begin({ loginHint: 'grace@corp.example' })).searchParams.get('login_hint')).toBe(
      'grace@corp.example',
    )
  })

  it('is not made while the provider cannot be used, and its addresses are not shown', async () => {
    clientFailure = new Error('connect ECONNREFUSED 10.0.0.1')
    await expect(begin()).rejects.toMatchObject({
      reason: 'company_unavailable',
      message: 'the provider of corp.example does not answer, or cannot be used',
      cause: clientFailure,
    })
    await expect(signIns.finish('corp.example', 'state=x', 'key')).rejects.toMatchObject({
      reason: 'credentials_invalid',
    })
  })
})

describe('the answer of a provider', () => {
  it('proves a person, by the checks that the request began with', async () => {
    claims = { ...claims, groups: ['staff'], email: 'Grace@Corp.example', auth_time: now - 10 }
    expect(await finish({ personId: 'ada' })).toEqual({
      ...{ company, purpose: 'sign_in', personId: 'ada', subject: 'grace', role: 'member' },
      ...{ email: 'grace@corp.example', authTime: (now - 10) * 1000 },
    })
    const [{ url, checks }] = granted as [(typeof granted)[0]]
    const state = new URL(url).searchParams.get('state')!
    expect(url).toBe(`${callback}?code=x&state=${state}`)
    expect(checks).toEqual({
      expectedState: state,
      expectedNonce: derived('nonce', state),
      pkceCodeVerifier: derived('verifier', state),
    })
    const rules = [{ issuer: company.issuer, allowsPrivate: false, algorithms: expect.any(Array) }]
    expect(verified).toEqual([{ rules, token: 'id token', accountId: 'a' }])
  })

  const refused = {
    reason: 'credentials_invalid',
    message: 'this sign-in was finished before, has expired, or began in another browser',
    hint: 'Start again on the sign-in page, in the same browser.',
  }

  it('counts once, within ten minutes', async () => {
    const state = (await begin()).searchParams.get('state')
    const query = `code=x&state=${state}`
    await signIns.finish('corp.example', query, 'key')
    await expect(signIns.finish('corp.example', query, 'key')).rejects.toMatchObject(refused)
    const late = (await begin()).searchParams.get('state')
    clock.advance(600_000)
    await expect(signIns.finish('corp.example', `code=x&state=${late}`, 'key')).rejects.toMatchObject(refused)
    expect(granted).toHaveLength(1)
  })

  it('counts in the browser that began, at the address of the company', async () => {
    await expect(finish({}, { jkt: 'another' })).rejects.toMatchObject(refused)
    await expect(finish({}, { domain: 'other.example' })).rejects.toMatchObject(refused)
    present = undefined
    await expect(finish()).rejects.toMatchObject(refused)
    present = { ...company, domain: 'renamed.example' }
    await expect(finish()).rejects.toMatchObject(refused)
    expect(granted).toEqual([])
  })

  it('has one state', async () => {
    const state = (await begin()).searchParams.get('state')
    for (const query of [`state=${state}&state=${state}`, 'code=x', 'state=unknown', ''])
      await expect(signIns.finish('corp.example', query, 'key')).rejects.toMatchObject(refused)
  })

  it('cannot be finished while the provider cannot be used', async () => {
    const state = (await begin()).searchParams.get('state')
    clientFailure = new Error('no answer')
    await expect(signIns.finish('corp.example', `state=${state}`, 'key')).rejects.toMatchObject({
      reason: 'company_unavailable',
    })
  })

  it('that refuses is explained', async () => {
    grantFailure = new library.AuthorizationResponseError('x', {
      cause: new URLSearchParams({ error: 'access_denied' }),
    } as never)
    await expect(finish()).rejects.toMatchObject({
      reason: 'credentials_invalid',
      message: 'the provider of corp.example answered access_denied',
    })
    grantFailure = new TokenError('token_untrusted', 'claim "nonce" is wrong')
    await expect(finish()).rejects.toMatchObject({
      message: expect.stringContaining('claim "nonce" is wrong'),
    })
  })
})

describe('an ID token of a provider', () => {
  it.each<[change: object, message: string]>([
    [{ iss: 'https://other.example' }, 'claim "iss" is not https://login.corp.example'],
    [{ aud: 'another client' }, 'aud'],
    [{ aud: ['client', 'another'], azp: 'another' }, 'azp'],
  ])('with %j is refused', async (change, message) => {
    claims = { ...claims, ...change }
    await expect(finish()).rejects.toMatchObject({
      reason: 'credentials_invalid',
      message: expect.stringContaining(message),
    })
  })

  it.each<[groups: unknown, role: string | undefined]>([
    [['staff', 'admins'], 'owner'],
    ['staff', 'member'],
    [['guests'], undefined],
    [undefined, undefined],
  ])('with the groups %j gives the role %s', async (groups, role) => {
    claims = { ...claims, groups }
    expect((await finish()).role).toBe(role)
  })

  it.each<[email: unknown, shown: string | undefined]>([
    ['grace@corp.example', 'grace@corp.example'],
    ['GRACE@CORP.EXAMPLE', 'grace@corp.example'],
    ["o'neil+x@corp.example", "o'neil+x@corp.example"],
    ['grace@other.example', undefined],
    ['grace@corp.example.evil.example', undefined],
    ['grace@evilcorp.example', undefined],
    ['grace@sub.corp.example', undefined],
    ['a@b@corp.example', undefined],
    ['@corp.example', undefined],
    ['gra ce@corp.example', undefined],
    ['grace@corp.example\n', undefined],
    ['\ngrace@corp.example', undefined],
    [`${'x'.repeat(64)}@corp.example`, `${'x'.repeat(64)}@corp.example`],
    [`${'x'.repeat(65)}@corp.example`, undefined],
    [undefined, undefined],
    [7, undefined],
    [['grace@corp.example'], undefined],
  ])('with the address %j shows %j', async (email, shown) => {
    claims = { ...claims, email }
    expect((await finish()).email).toBe(shown)
  })

  it('with an address of more than 254 characters does not show it', async () => {
    const domain = `${`${'d'.repeat(49)}.`.repeat(4)}example`
    const of = async (length: number) => {
      present = { ...company, domain }
      claims = { ...claims, email: `${'x'.repeat(length - domain.length - 1)}@${domain}` }
      const state = (await begin()).searchParams.get('state')
      return (await signIns.finish(domain, `state=${state}`, 'key')).email
    }
    expect(await of(254)).toHaveLength(254)
    expect(await of(255)).toBeUndefined()
  })

  const authTimeOf = async (authTime: unknown, purpose: Visitor['purpose'] = 'sign_in') => {
    claims = { ...claims, auth_time: authTime }
    return (await finish({ purpose })).authTime
  }

  it('states when the person proved who it is, never later than now', async () => {
    expect(await authTimeOf(undefined)).toBe(0)
    expect(await authTimeOf(0)).toBe(0)
    expect(await authTimeOf(now - 3600)).toBe((now - 3600) * 1000)
    expect(await authTimeOf(now + 60)).toBe(start)
  })

  it.each(['yesterday', -1, 0.5, now + 61, 2 ** 53])('with the time %j is refused', async (authTime) => {
    await expect(authTimeOf(authTime)).rejects.toMatchObject({
      message: expect.stringContaining(`claim "auth_time" is ${authTime}`),
    })
  })

  it('to confirm or to link is refused if the person did not sign in again', async () => {
    for (const purpose of ['confirm', 'link'] as const) {
      expect(await authTimeOf(now - 60, purpose)).toBe((now - 60) * 1000)
      expect(granted.at(-1)!.checks.maxAge).toBe(600)
      await expect(authTimeOf(now - 61, purpose)).rejects.toMatchObject({
        message: expect.stringContaining(`a sign-in after ${now} was asked for`),
      })
    }
  })
})
