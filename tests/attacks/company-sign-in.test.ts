/** Attacks on company sign-in: hostile providers, stolen and repeated answers, and people who should not get in or stay in. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPkce, decide, requestOf } from '../harness/app.ts'
import { type CompanyProvider, type NextToken, startCompanyProvider } from '../harness/company-provider.ts'
import {
  type ConsoleSession,
  consoleOrigin,
  enterByLink,
  openConsole,
  projectWith,
  startWithOwner,
} from '../harness/console.ts'
import { adminOf } from '../harness/flow.ts'

const domain = 'corp.example'
const rules = [
  { claim: 'groups', value: 'engineers', role: 'member' },
  { claim: 'groups', value: 'chiefs', role: 'owner' },
] as const
const now = () => Math.floor(Date.now() / 1000)

let addresses = 0
let site: Awaited<ReturnType<typeof startWithOwner>>
let provider: CompanyProvider
let admin: ReturnType<typeof adminOf>

const addCompany = (more: object = {}) =>
  admin['company.add']({
    domain,
    email: 'ada@example.com',
    issuer: provider.url,
    clientId: 'selvedge',
    clientAuth: 'none',
    clientSecret: null,
    rules: [...rules],
    allowsPrivate: true,
    ...more,
  })

beforeAll(async () => {
  site = await startWithOwner('--trustedProxies=127.0.0.1')
  admin = adminOf(site.state)
})
afterAll(() => site?.stop())
beforeEach(async () => {
  provider = await startCompanyProvider()
  await addCompany()
})
afterEach(async () => {
  for (const each of await admin['company.list']()) await admin['company.remove']({ domain: each.domain })
  await provider.stop()
})

/** Each browser is in a network of its own. */
const open = () =>
  openConsole(site.identity.url, { 'X-Forwarded-For': `10.0.${addresses >> 8}.${addresses++ & 255}` })
const begin = (browser: ConsoleSession, address = domain) =>
  browser.api['company.begin']({ address, purpose: 'sign_in' })

const outcome = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (cause: { reason?: string; message: string }) => `${cause.reason}: ${cause.message}`,
  )

/** A whole sign-in. @param change of the query with which the browser comes back */
async function signIn(
  browser: ConsoleSession,
  next: NextToken = {},
  change: (query: URLSearchParams) => void = () => undefined,
): Promise<string> {
  provider.next = next
  const begun = await outcome(begin(browser).then(({ url }) => void (from = url)))
  if (begun !== 'accepted') return begun
  const query = new URLSearchParams(provider.visit(from).query)
  change(query)
  return outcome(browser.api['company.finish']({ domain, query: query.toString() }))
}
let from = ''
const viewerOf = async (browser: ConsoleSession) => (await browser.api['session.get']()).viewer

it('signs a person in, with PKCE, nonce, state and the exact redirect URI', async () => {
  const browser = open()
  expect(await signIn(browser, { claims: { email: 'grace@corp.example' } })).toBe('accepted')
  expect(await viewerOf(browser)).toMatchObject({
    email: 'grace@corp.example',
    role: 'member',
    company: domain,
  })
  const asked = new URL(from).searchParams
  expect(Object.fromEntries(asked)).toMatchObject({
    client_id: 'selvedge',
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: `${consoleOrigin(site.identity.url)}/sign-in/${domain}/callback`,
  })
  expect(asked.get('state')).toMatch(/^[\w-]{43}$/)
  expect(asked.get('nonce')).toMatch(/^[\w-]{43}$/)
  expect(provider.forms[0]!.form.get('code_verifier')).toMatch(/^[\w-]{43}$/)
})

describe('an ID token is refused', () => {
  const late = 2 * 86_400
  it.each<[string, NextToken | (() => NextToken), string]>([
    ['without a signature', { sign: 'unsigned' }, 'is refused'],
    ['with HMAC and the public key', { sign: 'hs256' }, 'is refused'],
    ['signed by another key', { sign: 'stranger' }, 'signature'],
    ['that names a key by URL', { header: { jku: 'http://evil.example/keys' } }, 'jku'],
    ['that brings its own key', { header: { jwk: { kty: 'RSA' } } }, 'jwk'],
    ['with an unknown key', { header: { kid: 'another' } }, 'key'],
    ['with another algorithm than its key', { algorithm: 'ES256', header: { kid: 'RS256' } }, 'is refused'],
    ['of another issuer', { claims: { iss: 'https://evil.example' } }, 'is refused'],
    ['of the issuer with a slash at its end', () => ({ claims: { iss: `${provider.url}/` } }), 'is refused'],
    ['of the issuer in other case', () => ({ claims: { iss: provider.url.toUpperCase() } }), 'is refused'],
    ['for another client', { claims: { aud: 'another' } }, 'is refused'],
    ['for several clients without azp', { claims: { aud: ['selvedge', 'another'] } }, 'is refused'],
    ['with another azp', { claims: { aud: ['selvedge', 'another'], azp: 'another' } }, 'is refused'],
    ['with the nonce of another sign-in', { claims: { nonce: 'x'.repeat(43) } }, 'is refused'],
    ['without a nonce', { claims: { nonce: undefined } }, 'is refused'],
    ['with a nonce that is a list', { claims: { nonce: ['x'] } }, 'is refused'],
    ['that expired', () => ({ claims: { iat: now() - 900, exp: now() - 600 } }), 'is refused'],
    [
      'from a clock two days ahead',
      () => ({ claims: { iat: now() + late, exp: now() + late + 300 } }),
      'is refused',
    ],
    [
      'from a clock two days behind',
      () => ({ claims: { iat: now() - late, exp: now() - late + 300 } }),
      'is refused',
    ],
    ['that is valid for a month', () => ({ claims: { exp: now() + 30 * 86_400 } }), 'is refused'],
    ['without a sub', { claims: { sub: undefined } }, 'is refused'],
    ['with an empty sub', { claims: { sub: '' } }, 'is refused'],
    ['with a sub that is a number', { claims: { sub: 7 } }, 'is refused'],
    ['with a sub of 1000 characters', { claims: { sub: 'x'.repeat(1000) } }, 'is refused'],
    ['with a sub of a megabyte', { claims: { sub: 'x'.repeat(1_000_000) } }, 'cannot be used'],
    ['with a control character in the sub', { claims: { sub: 'a\u001b[2Jb' } }, 'is refused'],
    ['with an auth_time in the future', () => ({ claims: { auth_time: now() + 3600 } }), 'auth_time'],
    ['with an auth_time that is a text', { claims: { auth_time: 'now' } }, 'is refused'],
    ['that is a logout token', { header: { typ: 'logout+jwt' } }, 'is refused'],
  ])('%s', async (_, next, why) => {
    const browser = open()
    const said = await signIn(browser, typeof next === 'function' ? next() : next)
    expect(said).toMatch(/^(?:credentials_invalid|company_unavailable): /)
    expect(said).toContain(why)
    expect(await viewerOf(browser)).toBeNull()
  })
})

describe('an answer is refused', () => {
  it.each<[string, (query: URLSearchParams) => void]>([
    ['with another state', (query) => query.set('state', 'x'.repeat(43))],
    ['without a state', (query) => query.delete('state')],
    ['with two states', (query) => query.append('state', 'x'.repeat(43))],
    ['without the iss that the provider promises', (query) => query.delete('iss')],
    ['with the iss of another provider', (query) => query.set('iss', 'https://evil.example')],
    ['with the iss with a slash at its end', (query) => query.set('iss', `${query.get('iss')}/`)],
    ['with two codes', (query) => query.append('code', 'another')],
    ['without a code', (query) => query.delete('code')],
    ['with the code of another sign-in', (query) => query.set('code', 'code-0')],
    ['with an ID token of the front channel', (query) => query.set('response', 'x')],
  ])('%s', async (_, change) => {
    const browser = open()
    const said = await signIn(browser, {}, change)
    expect(said).toMatch(/^credentials_invalid: /)
    expect(await viewerOf(browser)).toBeNull()
  })

  it('when it comes a second time, from another tab or the back button', async () => {
    const browser = open()
    const { url } = await begin(browser)
    const { query } = provider.visit(url)
    expect(await outcome(browser.api['company.finish']({ domain, query }))).toBe('accepted')
    expect(await outcome(browser.api['company.finish']({ domain, query }))).toContain('was finished before')
    expect(await viewerOf(browser)).not.toBeNull()
  })

  it('once, when two tabs bring it at the same moment', async () => {
    const browser = open()
    const { url } = await begin(browser)
    const { query } = provider.visit(url)
    const both = await Promise.all(
      [1, 2].map(() => outcome(browser.api['company.finish']({ domain, query }))),
    )
    expect(both.filter((each) => each === 'accepted')).toHaveLength(1)
  })

  it('in another browser, so that no attacker signs a victim in as himself', async () => {
    const attacker = open()
    const { url } = await begin(attacker)
    const { query } = provider.visit(url)
    const victim = open()
    expect(await outcome(victim.api['company.finish']({ domain, query }))).toContain('another browser')
    expect(await viewerOf(victim)).toBeNull()
    expect(provider.forms).toHaveLength(0)
  })

  it('more than ten minutes after it began', async () => {
    const browser = open()
    const { query } = provider.visit((await begin(browser)).url)
    const database = new DatabaseSync(join(site.state, 'identity', 'identity.db'), { timeout: 30_000 })
    database.exec('UPDATE one_time SET expires_at = expires_at - 601000')
    database.close()
    expect(await outcome(browser.api['company.finish']({ domain, query }))).toContain('has expired')
  })

  it('at the address of another company', async () => {
    await addCompany({ domain: 'other.example' })
    const browser = open()
    const { query } = provider.visit((await begin(browser)).url)
    expect(await outcome(browser.api['company.finish']({ domain: 'other.example', query }))).toContain(
      'credentials_invalid',
    )
    expect(provider.forms).toHaveLength(0)
  })

  it('of a domain that moved to another account meanwhile', async () => {
    const browser = open()
    const { query } = provider.visit((await begin(browser)).url)
    await admin['company.remove']({ domain })
    await addCompany()
    expect(await outcome(browser.api['company.finish']({ domain, query }))).toContain('credentials_invalid')
  })

  it('in two tabs of one browser, each accepts its own', async () => {
    const browser = open()
    const [one, two] = [await begin(browser), await begin(browser)]
    for (const { url } of [two, one]) {
      const { query } = provider.visit(url)
      expect(await outcome(browser.api['company.finish']({ domain, query }))).toBe('accepted')
    }
  })
})

describe('a hostile provider', () => {
  it('cannot show markup or control sequences in its error', async () => {
    const browser = open()
    const said = await signIn(browser, {}, (query) => {
      query.delete('code')
      query.set('error', 'access_denied')
      query.set('error_description', `<script>alert(1)</script>\u001b[2J\u202e${'x'.repeat(5000)}`)
    })
    expect(said).toContain('access_denied')
    expect(said.length).toBeLessThan(400)
    expect(said).not.toMatch(/[\u001b\u202e]/)
  })

  it.each<[string, (url: string) => Record<string, unknown>]>([
    ['javascript: as its authorization endpoint', () => ({ authorization_endpoint: 'javascript:alert(1)' })],
    ['an authorization endpoint without TLS', () => ({ authorization_endpoint: 'http://evil.example/' })],
    [
      'an authorization endpoint with a user name',
      () => ({ authorization_endpoint: 'https://a:b@evil.example/' }),
    ],
    ['no authorization endpoint', () => ({ authorization_endpoint: undefined })],
    ['another issuer', () => ({ issuer: 'https://evil.example' })],
    ['its issuer with a slash', (url) => ({ issuer: `${url}/` })],
    ['a token endpoint of another scheme', () => ({ token_endpoint: 'file:///etc/passwd' })],
    ['a list for its issuer', (url) => ({ issuer: [url] })],
  ])('is not followed with %s', async (_, metadata) => {
    provider.metadata = metadata(provider.url)
    const said = await outcome(begin(open()))
    expect(said).toMatch(/^company_unavailable: /)
  })

  it('is not followed to the metadata service of a cloud', async () => {
    provider.metadata = { token_endpoint: 'https://169.254.169.254/latest/meta-data/' }
    expect(await signIn(open())).toContain('cannot be used')
  })

  it('is not followed through a redirect of its token endpoint', async () => {
    provider.answers['/token'] = (response) =>
      response.writeHead(307, { location: `${provider.url}/elsewhere` }).end()
    expect(await signIn(open())).toMatch(/^company_unavailable: /)
    expect(provider.asked).not.toContain('/elsewhere')
  })

  it.each<[string, string, string]>([
    ['HTML', 'text/html', '<h1>no</h1>'],
    ['a member that comes twice', 'application/json', '{"id_token":"a","id_token":"b"}'],
    ['no ID token', 'application/json', '{"access_token":"a","token_type":"Bearer"}'],
    ['null', 'application/json', 'null'],
    ['deep JSON', 'application/json', `${'['.repeat(5000)}${']'.repeat(5000)}`],
  ])('that answers %s signs no person in', async (_, type, body) => {
    provider.answers['/token'] = (response) => response.writeHead(200, { 'content-type': type }).end(body)
    const browser = open()
    expect(await signIn(browser)).toMatch(/^(?:credentials_invalid|company_unavailable): /)
    expect(await viewerOf(browser)).toBeNull()
  })

  it.each<[string, string]>([
    ['101 keys', JSON.stringify({ keys: Array.from({ length: 101 }, (_, at) => ({ kid: `${at}` })) })],
    ['a megabyte of keys', JSON.stringify({ keys: [{ n: 'x'.repeat(1_000_000) }] })],
    ['no keys', '{"keys":[]}'],
    ['HTML as its keys', '<h1>no</h1>'],
  ])('that publishes %s signs no person in', async (_, keys) => {
    provider.answers['/keys'] = (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(keys)
    const browser = open()
    expect(await signIn(browser)).toMatch(/^(?:credentials_invalid|company_unavailable): /)
    expect(await viewerOf(browser)).toBeNull()
  })

  it('that does not answer is given up', async () => {
    const requested = Promise.withResolvers<void>()
    provider.answers['/token'] = () => requested.resolve()
    const attempt = signIn(open())
    await requested.promise
    await site.clock.pass(5000)
    expect(await attempt).toMatch(/^company_unavailable: /)
  })

  it('that never stops answering costs 64 KiB', async () => {
    let sentBytes = 0
    provider.answers['/token'] = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        while (response.write('x'.repeat(16_384))) if ((sentBytes += 16_384) > 50_000_000) break
      }
      response.on('drain', more)
      more()
    }
    expect(await signIn(open())).toMatch(/^company_unavailable: /)
    expect(sentBytes).toBeLessThan(50_000_000)
  })

  it('that is down is named, and others can sign in', async () => {
    await provider.stop()
    await addCompany({ domain: 'down.example', issuer: 'http://127.0.0.1:9' })
    const said = await outcome(begin(open(), 'down.example'))
    expect(said).toMatch(/^company_unavailable: the provider of down.example /)
    expect(said).not.toContain('127.0.0.1')
    provider = await startCompanyProvider()
    await addCompany({ domain: 'up.example' })
    expect(await outcome(begin(open(), 'up.example'))).toBe('accepted')
  })
})

describe('people', () => {
  it('without a fitting rule get no access, and no person is made', async () => {
    const browser = open()
    expect(await signIn(browser, { claims: { groups: ['guests'], email: 'eve@corp.example' } })).toContain(
      'no access',
    )
    expect(await viewerOf(browser)).toBeNull()
    expect((await site.owner.api['member.list']()).map(({ email }) => email)).not.toContain(
      'eve@corp.example',
    )
  })

  it('lose membership and sessions when no rule fits any more', async () => {
    const [before, after] = [open(), open()]
    expect(await signIn(before)).toBe('accepted')
    expect(await signIn(after, { claims: { groups: [] } })).toContain('no access')
    expect(await viewerOf(before)).toBeNull()
    expect(await site.owner.api['member.list']()).toHaveLength(1)
  })

  it('get the role of their claim at each sign-in', async () => {
    const browser = open()
    expect(await signIn(browser, { claims: { groups: ['chiefs', 'engineers'] } })).toBe('accepted')
    expect(await viewerOf(browser)).toMatchObject({ role: 'owner' })
    expect(await signIn(browser)).toBe('accepted')
    expect(await viewerOf(browser)).toMatchObject({ role: 'member' })
  })

  it('who are no owners any more lose the invitations that they made', async () => {
    const browser = open()
    await signIn(browser, { claims: { groups: ['chiefs'], auth_time: now() } })
    const { link } = await browser.api['member.invite']({ role: 'owner' })
    await signIn(browser)
    const use = { link: link.slice(link.indexOf('#') + 1), email: 'late@example.com' }
    expect(await outcome(open().api['link.use'](use))).toContain('credentials_invalid')
  })

  it('are not linked by their address: that of a local owner makes another person', async () => {
    await addCompany({ domain: 'example.com' })
    const browser = open()
    provider.next = { claims: { email: 'ada@example.com', groups: ['chiefs'] } }
    const { query } = provider.visit((await begin(browser, 'example.com')).url)
    expect(await outcome(browser.api['company.finish']({ domain: 'example.com', query }))).toBe('accepted')
    const viewer = await viewerOf(browser)
    expect(viewer!.email).toMatch(/^ada\+[0-9a-f]{12}@example\.com$/)
    expect(viewer!.personId).not.toBe((await viewerOf(site.owner))!.personId)
  })

  it('cannot take an address of another domain', async () => {
    const browser = open()
    expect(await signIn(browser, { claims: { email: 'ceo@bank.example' } })).toBe('accepted')
    expect((await viewerOf(browser))!.email).toMatch(/^person\+[0-9a-f]{12}@corp\.example$/)
  })

  it('who are owners by a rule cannot remove the last local owner', async () => {
    const browser = open()
    await signIn(browser, { claims: { groups: ['chiefs'], auth_time: now() } })
    const { personId } = (await viewerOf(site.owner))!
    expect(await outcome(browser.api['member.remove']({ personId }))).toContain('conflict')
    expect(await outcome(browser.api['member.set_role']({ personId, role: 'member' }))).toContain('conflict')
  })

  it('cannot add a local sign-in method in a session of the company', async () => {
    const browser = open()
    await signIn(browser, { claims: { auth_time: now() } })
    const password = 'three quiet herons at dusk'
    expect(await outcome(browser.api['password.set']({ password }))).toContain('forbidden')
    expect(await outcome(browser.api['passkey.begin']())).toContain('forbidden')
    expect(await outcome(browser.api['recovery.create']())).toContain('forbidden')
  })

  it('need a fresh sign-in if the provider did not say when they signed in', async () => {
    const browser = open()
    await signIn(browser, { claims: { groups: ['chiefs'] } })
    expect(await outcome(browser.api['member.invite']({ role: 'member' }))).toContain('step_up_required')
  })

  it.each<[string, () => object, string]>([
    ['now', () => ({ auth_time: now() }), 'accepted'],
    ['five minutes ago, before it was requested', () => ({ auth_time: now() - 300 }), 'credentials_invalid'],
    ['an hour ago', () => ({ auth_time: now() - 3600 }), 'credentials_invalid'],
    ['at a time that it does not state', () => ({}), 'credentials_invalid'],
    ['as another person', () => ({ auth_time: now(), sub: 'mallory' }), 'credentials_invalid'],
    ['without a rule that fits', () => ({ auth_time: now(), groups: [] }), 'credentials_invalid'],
  ])('confirm with the company: %s', async (_, claims, expected) => {
    const browser = open()
    await signIn(browser, { claims: { groups: ['chiefs'] } })
    const { url } = await browser.api['company.begin']({ address: domain, purpose: 'confirm' })
    expect(new URL(url).searchParams.get('max_age')).toBe('0')
    provider.next = { claims: { groups: ['chiefs'], ...claims() } }
    const { query } = provider.visit(url)
    expect(await outcome(browser.api['company.finish']({ domain, query }))).toContain(expected)
    const invited = await outcome(browser.api['member.invite']({ role: 'member' }))
    expect(invited === 'accepted').toBe(expected === 'accepted')
  })

  it('cannot confirm or link without a session', async () => {
    const api = open().api
    for (const purpose of ['confirm', 'link'] as const)
      expect(await outcome(api['company.begin']({ address: domain, purpose }))).toContain('signed_out')
  })

  it('are linked only while they are signed in, and the link is theirs alone', async () => {
    const { url } = await site.owner.api['company.begin']({ address: domain, purpose: 'link' })
    const { query } = provider.visit(url)
    expect(await outcome(open().api['company.finish']({ domain, query }))).toContain('credentials_invalid')
    provider.next = { claims: { auth_time: now() } }
    const again = provider.visit(
      (await site.owner.api['company.begin']({ address: domain, purpose: 'link' })).url,
    )
    expect(await outcome(site.owner.api['company.finish']({ domain, query: again.query }))).toBe('accepted')
    const browser = open()
    expect(await signIn(browser)).toBe('accepted')
    // The rule gives "member", and the last local owner stays an owner.
    expect(await viewerOf(browser)).toMatchObject({ email: 'ada@example.com', role: 'owner' })
    expect(await signIn(open(), { claims: { groups: [] } })).toContain('no access')
    expect(await viewerOf(browser)).toBeNull()
    expect(await viewerOf(site.owner)).toMatchObject({ role: 'owner' })
  })
})

describe('to the apps of other accounts, a company', () => {
  const app = async (appUsers: 'account' | 'anyone', console: ConsoleSession) => {
    const redirectUri = 'https://app.example/signed-in'
    const more = { appUsers, redirectUris: [redirectUri], scopes: ['openid', 'offline_access'] as const }
    const { clientId } = await console.api['project.create'](projectWith({ name: 'app', ...more }))
    return { clientId, redirectUri }
  }
  const enter = (browser: ConsoleSession, { clientId, redirectUri }: Awaited<ReturnType<typeof app>>) =>
    outcome(decide(browser, requestOf({ clientId, redirectUri }, createPkce())))
  let stranger: ConsoleSession
  beforeAll(async () => {
    const email = 'stranger@example.com'
    await admin['account.create']({ email })
    const { link } = await admin['account.link']({ email })
    stranger = await enterByLink(site.identity.url, link, email)
  })

  it('does not vouch for a person who has a sign-in of their own', async () => {
    await site.owner.api['password.set']({ password: 'three quiet herons at dusk' })
    provider.next = { claims: { auth_time: now() } }
    const { url } = await site.owner.api['company.begin']({ address: domain, purpose: 'link' })
    await site.owner.api['company.finish']({ domain, query: provider.visit(url).query })
    const browser = open()
    expect(await signIn(browser, { claims: { auth_time: now() } })).toBe('accepted')
    expect(await viewerOf(browser)).toMatchObject({ email: 'ada@example.com' })
    expect(await enter(browser, await app('anyone', stranger))).toContain('in its own account only')
    expect(await enter(browser, await app('account', site.owner))).toBe('accepted')
  })

  it('vouches for a person who has no other sign-in', async () => {
    const browser = open()
    await signIn(browser, { claims: { auth_time: now() } })
    expect(await enter(browser, await app('anyone', stranger))).toBe('accepted')
    expect(await enter(browser, await app('account', stranger))).toContain('not one of them')
  })
})

describe('a company that is removed', () => {
  it('ends its sessions, memberships and developer ID tokens at once', async () => {
    const browser = open()
    await signIn(browser, { claims: { auth_time: now() } })
    const { clientId } = await browser.api['project.create'](projectWith({ name: 'of the company' }))
    const { jti } = await browser.api['token.create']({ clientId })
    await admin['company.remove']({ domain })
    expect(await viewerOf(browser)).toBeNull()
    expect(await site.owner.api['member.list']()).toHaveLength(1)
    expect(await outcome(begin(open()))).toContain('not_found')
    const token = (await site.owner.api['token.list']()).find((each) => each.jti === jti)
    expect(token!.revokedAt).not.toBeNull()
  })
})

describe('required company sign-in', () => {
  it('leaves local owners in, and no other local member', async () => {
    const { link } = await site.owner.api['member.invite']({ role: 'member' })
    const member = open()
    await member.api['link.use']({
      link: link.slice(link.indexOf('#') + 1),
      email: `bob${++addresses}@example.com`,
    })
    expect(await viewerOf(member)).not.toBeNull()
    const [company] = await site.owner.api['company.list']()
    await site.owner.api['company.update']({
      companyId: company!.companyId,
      rules: [...rules],
      isRequired: true,
    })
    expect(await viewerOf(member)).toBeNull()
    expect(await viewerOf(site.owner)).toMatchObject({ role: 'owner' })
  })
})

it('gives a new session, and ends the one before (fixation)', async () => {
  const browser = open()
  await signIn(browser)
  const before = browser.cookie()
  const { sessionId } = (await browser.api['session.list']()).find(({ isCurrent }) => isCurrent)!
  await signIn(browser)
  expect(browser.cookie()).not.toBe(before)
  expect((await browser.api['session.list']()).map((each) => each.sessionId)).not.toContain(sessionId)
})

it('cannot be framed, and sends the code of its address to no other site', async () => {
  const url = `${consoleOrigin(site.identity.url)}/sign-in/${domain}/callback?code=x&state=y`
  const { headers } = await fetch(url, { headers: { Accept: 'text/html' }, redirect: 'error' })
  expect(headers.get('content-security-policy')).toMatch(/frame-ancestors 'none'/)
  expect(headers.get('referrer-policy')).toBe('no-referrer')
})

it('begins only some sign-ins for one network', async () => {
  const browser = open()
  const outcomes: string[] = []
  for (let at = 0; at < 25; at++) outcomes.push((await outcome(begin(browser))).split(':')[0]!)
  expect(outcomes[0]).toBe('accepted')
  expect(outcomes.at(-1)).toBe('busy')
})

it('shows nothing about people: answers depend on the domain alone', async () => {
  await addCompany({ domain: 'example.com' })
  const shapes = await Promise.all(
    ['ada@example.com', 'nobody@example.com'].map(async (address) => {
      const { searchParams } = new URL((await begin(open(), address)).url)
      return [...searchParams.keys()].join()
    }),
  )
  expect(shapes[0]).toBe(shapes[1])
  expect(await outcome(begin(open(), 'ada@unknown.example'))).toContain('not_found')
})

it('never shows the client secret, and does not store it as it is', async () => {
  const secret = 'correcthorsebatterystaple'
  const made = await addCompany({
    domain: 'secret.example',
    clientAuth: 'client_secret',
    clientSecret: secret,
  })
  expect(
    JSON.stringify([made, await admin['company.list'](), await site.owner.api['company.list']()]),
  ).not.toContain(secret)
  const browser = open()
  const { query } = provider.visit((await begin(browser, 'secret.example')).url)
  expect(await outcome(browser.api['company.finish']({ domain: 'secret.example', query }))).toBe('accepted')
  expect(Buffer.from(provider.forms.at(-1)!.authorization!.split(' ')[1]!, 'base64').toString()).toBe(
    `selvedge:${secret}`,
  )
})

it('authenticates with its own key, with a token that it accepts nowhere itself', async () => {
  await addCompany({ domain: 'key.example', clientAuth: 'private_key_jwt' })
  const browser = open()
  const { query } = provider.visit((await begin(browser, 'key.example')).url)
  expect(await outcome(browser.api['company.finish']({ domain: 'key.example', query }))).toBe('accepted')
  const assertion = provider.forms.at(-1)!.form.get('client_assertion')!
  const [header, claims] = assertion
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  expect(header).toMatchObject({ typ: 'client-authentication+jwt', alg: 'ES256' })
  expect(claims).toMatchObject({ iss: 'selvedge', sub: 'selvedge', aud: provider.url })
})

it('reaches no other account of a linked person', async () => {
  const [own] = (await viewerOf(site.owner))!.accounts
  await admin['account.create']({ email: 'lin@example.com' })
  const { link } = await admin['account.link']({ email: 'lin@example.com' })
  const lin = await enterByLink(site.identity.url, link, 'lin@example.com')
  const invitation = await lin.api['member.invite']({ role: 'owner' })
  const secret = invitation.link.slice(invitation.link.indexOf('#') + 1)
  await site.owner.api['link.use']({ link: secret, email: 'ada@example.com' })
  expect((await viewerOf(site.owner))!.accounts).toHaveLength(2)
  await site.owner.api['session.switch']({ accountId: own!.accountId })

  const { url } = await site.owner.api['company.begin']({ address: domain, purpose: 'link' })
  provider.next = { claims: { auth_time: now() } }
  const { query } = provider.visit(url)
  expect(await outcome(site.owner.api['company.finish']({ domain, query }))).toBe('accepted')
  const browser = open()
  expect(await signIn(browser, { claims: { auth_time: now() } })).toBe('accepted')
  expect((await viewerOf(browser))!.accounts).toEqual([own])
  const { accountId } = (await viewerOf(lin))!
  expect(await outcome(browser.api['session.switch']({ accountId }))).toContain('not_found')
})
