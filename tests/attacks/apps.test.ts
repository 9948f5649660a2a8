/** Attacks on the sign-in of people to apps: on the authorization endpoint, its codes, the tokens that are issued for them, and CORS. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { grantTypes, identityPaths, tokenTypes } from '@selvedge/protocol'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type App,
  addressOf,
  authorize,
  createPkce,
  decide,
  redeem,
  requestOf,
  signInToApp,
} from '../harness/app.ts'
import { type ConsoleSession, enterByLink, openConsole, projectWith } from '../harness/console.ts'
import { adminOf, createDeveloper, type Developer, runtimeOf } from '../harness/flow.ts'
import { createProofKey, type OAuthAnswer, post, postProven } from '../harness/oauth.ts'
import { freePorts, type Stack, startProgram, startStack, temporaryFolder } from '../harness/processes.ts'
import { type Forgery, forge, readIssuerKeys } from './forge.ts'

interface Case {
  readonly name: string
  readonly app?: 'native' | 'disabled' | 'without'
  readonly change?: Readonly<Record<string, string | null>>
  readonly append?: string
  /** `shown`: the page is shown; `page`: the person sees the reason and no app gets an answer; else the error for the app. */
  readonly expect: string
}

const cases: readonly Case[] = JSON.parse(
  readFileSync(new URL('authorizations.json', import.meta.url), 'utf8'),
)

const webUri = 'https://app.example/signed-in'
const origin = 'https://app.example'
const scopes = ['openid', 'edge:mcm', 'offline_access'] as const

let stack: Stack
let url: string
let person: ConsoleSession
let apps: Record<'web' | 'native' | 'disabled' | 'without' | 'other', App>
let developer: Developer
const values: Record<string, string> = {}

const createApp = async (more: object, redirectUri = webUri): Promise<App> => {
  const project = projectWith({ scopes, redirectUris: [redirectUri], ...more })
  return { clientId: (await person.api['project.create'](project)).clientId, redirectUri }
}
const push = (app: App, more: Record<string, string | undefined> = {}, pkce = createPkce()) =>
  post(`${url}/par`, Object.fromEntries(new URLSearchParams(requestOf(app, pkce, more))))
const change = (statement: string, ...params: string[]) => {
  const database = new DatabaseSync(join(stack.state, 'identity', 'identity.db'), { timeout: 30_000 })
  database.prepare(statement).run(...params)
  database.close()
}

beforeAll(async () => {
  stack = await startStack()
  url = stack.identity.url
  person = await enterByLink(url, stack.identity.ready.setup!, 'ada@example.com')
  apps = {
    web: await createApp({ origins: [origin] }),
    native: await createApp(
      {
        appType: 'native',
        redirectUris: ['http://127.0.0.1/callback', 'http://[::1]/callback', 'com.example.app:/signed-in'],
      },
      'http://127.0.0.1/callback',
    ),
    disabled: await createApp({}),
    without: await createApp({ redirectUris: [] }),
    other: await createApp(
      { redirectUris: ['https://other.example/signed-in'], origins: ['https://other.example'] },
      'https://other.example/signed-in',
    ),
  }
  await adminOf(stack.state)['project.disable']({ clientId: apps.disabled.clientId })
  developer = await createDeveloper(stack.state)
  const keys = readIssuerKeys(stack.state)
  const forged = (token: string, changes: Partial<Forgery>) =>
    forge(token, { name: '', expect: '', ...changes }, keys)
  const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
  const own = (await signInToApp(url, apps.web, person)).body
  Object.assign(values, {
    developer: developer.idToken,
    access: own.access_token,
    other_id_token: (await signInToApp(url, apps.other, person)).body.id_token,
    forged_id_token: forged(own.id_token!, { sign: 'stranger' }),
    discovery_edge: forged(edge, { payload: { aud: discoveryAudience } }),
    blocked_edge: await edgeTokenOfBlockedNode(),
    other_request_uri: (await push(apps.other)).body.request_uri,
  })
})
afterAll(() => stack?.stop())

async function edgeTokenOfBlockedNode(): Promise<string> {
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, ...freePorts, SELVEDGE_IDENTITY_URL: url }
  const runtime = await startProgram('runtime', env)
  const { id_token } = await runtimeOf({ runtime }).getEdgeIdToken()
  await adminOf(stack.state)['node.block']({ nodeId: (await runtimeOf({ runtime }).getMe()).nodeId })
  await runtime.stop()
  await folder.remove()
  return id_token
}

function queryOf({ app: name = 'web' as never, change: changes = {}, append = '' }: Case): string {
  const more = Object.fromEntries(
    Object.entries(changes).map(([key, value]) => [
      key,
      value === null ? undefined : value.startsWith('$') ? values[value.slice(1)] : value,
    ]),
  )
  return requestOf(apps[name as 'web'], createPkce(), more) + append
}

describe('a request for authorization with', () => {
  it.each(cases)('$name: $expect', async (one) => {
    const query = queryOf(one)
    const shown = await authorize(url, query)
    const location = shown.headers.get('location')
    const step = await person.api['authorization.begin']({ query: query.slice(0, 16_384), ticket: null })
    if (one.expect === 'shown') {
      expect([shown.status, location, step.step]).toEqual([200, null, 'consent'])
      return
    }
    if (one.expect === 'page') {
      expect([shown.status, location]).toEqual([400, null])
      if (query.length < 12_000) expect(step.step).toBe('refused')
      return
    }
    expect(shown.status).toBe(303)
    // The page itself would answer the same: it reads the request again.
    for (const answer of [new URL(location!), addressOf(step)]) {
      expect(answer.href.startsWith(`${webUri}?error=`)).toBe(true)
      expect(Object.fromEntries(answer.searchParams)).toEqual({
        error: one.expect,
        error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/),
        state: 'state-of-the-app',
        iss: url,
      })
    }
  })

  it('a push refuses whatever the authorization endpoint refuses, and stores nothing of it', async () => {
    for (const one of cases) {
      if (one.append !== undefined || one.expect === 'shown' || one.change?.request_uri) continue
      const form = Object.fromEntries(new URLSearchParams(queryOf(one)))
      const { status, body } = await post(`${url}/par`, form)
      expect({ name: one.name, isRefused: status >= 400, uri: body.request_uri }).toEqual({
        name: one.name,
        isRefused: true,
        uri: undefined,
      })
    }
  })
})

describe('the page', () => {
  it.each([identityPaths.authorize, identityPaths.endSession])(
    'at %s may be framed by no site, and gives no referrer and no other site a handle on its window',
    async (path) => {
      const query = requestOf(apps.web, createPkce())
      const { headers, status } = await fetch(`${url.replace('127.0.0.1', 'localhost')}${path}?${query}`)
      expect(status).toBe(200)
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    },
  )

  it('cannot be decided by a form or a script of another site: it needs the key of the browser', async () => {
    const query = requestOf(apps.web, createPkce())
    const { ticket } = (await person.api['authorization.begin']({ query, ticket: null })) as {
      ticket: string
    }
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'authorization.decide',
      params: { query, ticket, approve: true },
    })
    const target = `${url}${identityPaths.consoleApi}`
    for (const headers of [
      { 'Content-Type': 'application/json' },
      { 'Content-Type': 'application/json', Origin: 'https://evil.example' },
      { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'cross-site' },
      { 'Content-Type': 'application/x-www-form-urlencoded' },
    ]) {
      const answer = await fetch(target, {
        method: 'POST',
        body,
        headers: { ...headers, Cookie: person.cookie() },
      })
      expect([401, 403, 415]).toContain(answer.status)
    }
  })

  it('accepts no ticket of another request, of another time or made up', async () => {
    const query = requestOf(apps.web, createPkce(), { prompt: 'consent' })
    const other = requestOf(apps.web, createPkce(), { prompt: 'consent' })
    const { ticket } = (await person.api['authorization.begin']({ query: other, ticket: null })) as {
      ticket: string
    }
    const older = `${Number(ticket.split('.')[0]) - 1000}.${ticket.split('.')[1]}`
    for (const wrong of [ticket, older, 'x', `0.${'a'.repeat(43)}`])
      expect(await person.api['authorization.decide']({ query, ticket: wrong, approve: true })).toMatchObject(
        { step: 'refused' },
      )
  })

  it('of an app for one account lets no person of another account approve, and issues no silent code', async () => {
    const admin = adminOf(stack.state)
    await admin['account.create']({ email: 'bob@example.com' })
    const { link } = await admin['account.link']({ email: 'bob@example.com' })
    const bob = await enterByLink(url, link, 'bob@example.com')
    const query = requestOf(apps.web, createPkce())
    const step = await bob.api['authorization.begin']({ query, ticket: null })
    if (step.step !== 'consent') throw new Error(step.step)
    expect(step.consent).toMatchObject({ isOwn: false, obstacle: expect.any(String) })
    await expect(
      bob.api['authorization.decide']({ query, ticket: step.ticket, approve: true }),
    ).rejects.toMatchObject({ reason: 'forbidden' })
    const silent = requestOf(apps.web, createPkce(), { prompt: 'none' })
    const answer = addressOf(await bob.api['authorization.begin']({ query: silent, ticket: null }))
    expect(answer.searchParams.get('error')).toBe('access_denied')
    // One for everyone acts for the account of the person, never for that of the app.
    const open = await createApp({ appUsers: 'anyone' })
    const { body } = await signInToApp(url, open, bob)
    const viewer = (await bob.api['session.get']()).viewer!
    expect(jose.decodeJwt(body.access_token!)).toMatchObject({
      sub: viewer.personId,
      account_id: viewer.accountId,
    })
  })

  it('shows the names of an app and a device without characters that reorder or hide text', async () => {
    const app = await createApp({ name: 'Van\u202E tracker\u200B\n of your account' })
    const step = await person.api['authorization.begin']({
      query: requestOf(app, createPkce()),
      ticket: null,
    })
    expect(step).toMatchObject({ consent: { appName: 'Van tracker  of your account' } })
  })

  it('needs an approval each time where another program can claim the redirect URI', async () => {
    const query = () => requestOf(apps.native, createPkce())
    await decide(person, query())
    expect((await person.api['authorization.begin']({ query: query(), ticket: null })).step).toBe('consent')
  })

  it('wants a recent sign-in for what acts on a device', async () => {
    const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
    const query = requestOf(apps.web, createPkce(), { scope: 'openid edge:mcm', edge_id_token: edge })
    const { ticket } = (await person.api['authorization.begin']({ query, ticket: null })) as {
      ticket: string
    }
    change('UPDATE sessions SET auth_time = auth_time - 3600000')
    await expect(person.api['authorization.decide']({ query, ticket, approve: true })).rejects.toMatchObject({
      reason: 'step_up_required',
    })
    change('UPDATE sessions SET auth_time = auth_time + 3600000')
    expect(await person.api['authorization.decide']({ query, ticket, approve: true })).toMatchObject({
      step: 'return',
    })
    // Each time: an approval for a device is not stored.
    const again = requestOf(apps.web, createPkce(), { scope: 'openid edge:mcm', edge_id_token: edge })
    expect((await person.api['authorization.begin']({ query: again, ticket: null })).step).toBe('consent')
  })
})

describe('a code', () => {
  /** A code for an app, and its verifier. */
  async function codeFor(app: App, more: Record<string, string | undefined> = {}) {
    const pkce = createPkce()
    const answer = await decide(person, requestOf(app, pkce, { prompt: 'consent', ...more }))
    return { code: answer.searchParams.get('code')!, ...pkce }
  }
  const errorOf = async (answer: Promise<OAuthAnswer>) => (await answer).body.error

  it('is refused for another app, another redirect URI and every wrong verifier, and is not used up by that', async () => {
    const own = await codeFor(apps.web)
    const attempts: [Partial<App>, Record<string, string | null>, string][] = [
      // Mix-up and code injection: the code of one app, redeemed by another one.
      [{ clientId: apps.other.clientId }, {}, 'invalid_grant'],
      [{ redirectUri: apps.other.redirectUri }, {}, 'invalid_grant'],
      [{ redirectUri: `${webUri}/` }, {}, 'invalid_grant'],
      [{}, { redirect_uri: null }, 'invalid_request'],
      [{}, { code_verifier: null }, 'invalid_request'],
      [{}, { client_id: null }, 'invalid_request'],
      [{}, { code_verifier: createPkce().verifier }, 'invalid_grant'],
      [{}, { code_verifier: own.challenge }, 'invalid_grant'],
      [{}, { code_verifier: 'short' }, 'invalid_grant'],
      [{}, { code_verifier: 'a'.repeat(129) }, 'invalid_grant'],
      [{}, { code: createPkce().verifier }, 'invalid_grant'],
      [{}, { resource: 'https://evil.example' }, 'invalid_target'],
      [{ clientId: '00000000-0000-4000-8000-000000000000' }, {}, 'invalid_client'],
    ]
    for (const [app, more, error] of attempts)
      expect(await errorOf(redeem(url, { ...apps.web, ...app }, own, more))).toBe(error)
    expect((await redeem(url, apps.web, own)).status).toBe(200)
  })

  it('that comes a second time revokes the tokens that were issued for it', async () => {
    const own = await codeFor(apps.web)
    const { body } = await redeem(url, apps.web, own)
    // A copy of the code alone does no harm.
    const without = { code_verifier: createPkce().verifier }
    expect(await errorOf(redeem(url, apps.web, own, without))).toBe('invalid_grant')
    const isActive = async () =>
      (await post(`${url}/introspect`, { token: body.access_token!, client_id: apps.web.clientId })).body
        .active
    expect(await isActive()).toBe(true)
    expect(await errorOf(redeem(url, apps.web, own))).toBe('invalid_grant')
    expect(await isActive()).toBe(false)
    const form = { grant_type: 'refresh_token', client_id: apps.web.clientId }
    expect(await errorOf(post(`${url}/token`, { ...form, refresh_token: body.refresh_token! }))).toBe(
      'invalid_grant',
    )
    const audit = await person.api['audit.list']({ before: null })
    expect(audit).toContainEqual(
      expect.objectContaining({ action: 'authorization_code.reuse', outcome: 'refused' }),
    )
  })

  it('shown ten times at once leaves no token that is valid', async () => {
    const own = await codeFor(apps.web)
    const answers = await Promise.all(Array.from({ length: 10 }, () => redeem(url, apps.web, own)))
    const got = answers.filter(({ status }) => status === 200)
    expect(got.length).toBeLessThanOrEqual(1)
    for (const { body } of got) {
      const { active } = (
        await post(`${url}/introspect`, { token: body.access_token!, client_id: apps.web.clientId })
      ).body
      expect(active).toBe(false)
    }
  })

  it('is bound to the key of dpop_jkt: neither another key nor no key redeems it', async () => {
    const key = createProofKey()
    const own = await codeFor(apps.web, { dpop_jkt: key.jkt })
    expect(await errorOf(redeem(url, apps.web, own))).toBe('invalid_grant')
    expect(await errorOf(redeem(url, apps.web, own, {}, createProofKey()))).toBe('invalid_grant')
    expect((await redeem(url, apps.web, own, {}, key)).body.token_type).toBe('DPoP')
  })

  it('of a project that requires proofs is refused without one', async () => {
    const strict = await createApp({ dpop: 'required' })
    const own = await codeFor(strict)
    expect(await errorOf(redeem(url, strict, own))).toBe('invalid_dpop_proof')
    expect((await redeem(url, strict, own, {}, createProofKey())).body.token_type).toBe('DPoP')
  })

  it('is worth nothing after its person left the account, its project was deleted, or all tokens were revoked', async () => {
    const { link } = await person.api['member.invite']({ role: 'member' })
    const mia = await enterByLink(url, link, 'mia@example.com')
    const pkce = createPkce()
    const answer = await decide(mia, requestOf(apps.web, pkce))
    const { personId } = (await mia.api['session.get']()).viewer!
    await person.api['member.remove']({ personId })
    const own = { code: answer.searchParams.get('code')!, ...pkce }
    expect(await errorOf(redeem(url, apps.web, own))).toBe('invalid_grant')

    const gone = await createApp({})
    const ofGone = await codeFor(gone)
    await person.api['project.delete']({ clientId: gone.clientId })
    expect(await errorOf(redeem(url, gone, ofGone))).toBe('invalid_client')

    const revoked = await codeFor(apps.web)
    await person.api['account.revoke_all']()
    expect(await errorOf(redeem(url, apps.web, revoked))).toBe('invalid_grant')
  })

  it('of a person who was removed after its redemption leaves no access token', async () => {
    const { link } = await person.api['member.invite']({ role: 'member' })
    const joe = await enterByLink(url, link, 'joe@example.com')
    const { body } = await signInToApp(url, apps.web, joe, { scope: 'openid' })
    await person.api['member.remove']({ personId: (await joe.api['session.get']()).viewer!.personId })
    const state = await post(`${url}/introspect`, { token: body.access_token!, client_id: apps.web.clientId })
    expect(state.body.active).toBe(false)
  })
})

describe('an ID token of an app', () => {
  it.each([
    [
      'id_token_signin',
      (idToken: string, edge: string) => ({
        grant_type: grantTypes.idTokenSignin,
        id_token: idToken,
        edge_id_token: edge,
      }),
    ],
    [
      'the token exchange',
      (idToken: string, edge: string) => ({
        grant_type: grantTypes.tokenExchange,
        subject_token: idToken,
        subject_token_type: tokenTypes.idToken,
        actor_token: edge,
        actor_token_type: tokenTypes.idToken,
      }),
    ],
  ])('is no developer ID token for %s', async (_, formOf) => {
    const { body } = await signInToApp(url, apps.web, person)
    const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
    const form = { client_id: apps.web.clientId, scope: 'openid', ...formOf(body.id_token!, edge) }
    const answer = await post(`${url}/token`, form)
    expect(answer.status).toBe(400)
    expect(answer.body.error_description).toContain('app-id+jwt')
  })

  it('is no access token either, and a refresh never gives a developer ID token', async () => {
    const { body } = await signInToApp(url, apps.web, person)
    const info = await fetch(`${url}/userinfo`, { headers: { Authorization: `Bearer ${body.id_token}` } })
    expect(info.status).toBe(401)
    const form = {
      grant_type: 'refresh_token',
      client_id: apps.web.clientId,
      refresh_token: body.refresh_token!,
    }
    const refreshed = await post(`${url}/token`, form)
    expect(jose.decodeProtectedHeader(refreshed.body.id_token!).typ).toBe('app-id+jwt')
    const stolen = await post(`${url}/token`, { ...form, client_id: apps.other.clientId })
    expect(stolen.body.error).toBe('invalid_grant')
  })

  it('cannot be had by the version before: the row of the sign-in is without "openid"', async () => {
    const { body } = await signInToApp(url, apps.web, person)
    const { sid } = jose.decodeJwt(body.id_token!) as { sid: string }
    const database = new DatabaseSync(join(stack.state, 'identity', 'identity.db'), { readOnly: true })
    expect(database.prepare('SELECT scope FROM sign_ins WHERE sid = ?').get(sid)).toEqual({
      scope: 'offline_access',
    })
    database.close()
  })
})

describe('a pushed request', () => {
  it('is of no use to another client, nor twice', async () => {
    const { body } = await push(apps.web)
    const queryFor = (clientId: string) =>
      new URLSearchParams({ client_id: clientId, request_uri: body.request_uri! }).toString()
    const begin = (clientId: string) =>
      person.api['authorization.begin']({ query: queryFor(clientId), ticket: null })
    expect(await begin(apps.other.clientId)).toMatchObject({ step: 'refused' })
    await decide(person, queryFor(apps.web.clientId), false)
    expect(await begin(apps.web.clientId)).toMatchObject({ step: 'refused' })
  })

  it('decided ten times at once leads to one code', async () => {
    const { body } = await push(apps.web, { prompt: 'consent' })
    const query = new URLSearchParams({
      client_id: apps.web.clientId,
      request_uri: body.request_uri!,
    }).toString()
    const { ticket } = (await person.api['authorization.begin']({ query, ticket: null })) as {
      ticket: string
    }
    const steps = await Promise.all(
      Array.from({ length: 10 }, () => person.api['authorization.decide']({ query, ticket, approve: true })),
    )
    expect(steps.filter(({ step }) => step === 'return')).toHaveLength(1)
    expect(steps.filter(({ step }) => step === 'refused')).toHaveLength(9)
  })

  it('holds to its own parameters, whatever the query has beside request_uri', async () => {
    const { body } = await push(apps.web)
    const query = new URLSearchParams({
      client_id: apps.web.clientId,
      request_uri: body.request_uri!,
      redirect_uri: 'https://evil.example/',
      state: 'evil',
      scope: 'openid edge:mcm',
    }).toString()
    const answer = await decide(person, query, false)
    expect(answer.host).toBe('app.example')
    expect(answer.searchParams.get('state')).toBe('state-of-the-app')
  })

  it('with a request_uri inside, a foreign thumbprint or a secret is refused', async () => {
    const form = Object.fromEntries(new URLSearchParams(requestOf(apps.web, createPkce())))
    const inside = await post(`${url}/par`, { ...form, request_uri: 'urn:x' })
    expect(inside.body.error).toBe('invalid_request')
    const foreign = await postProven(
      `${url}/par`,
      { ...form, dpop_jkt: createProofKey().jkt },
      createProofKey(),
    )
    expect(foreign.body.error).toBe('invalid_request')
    const secret = await post(`${url}/par`, form, { Authorization: 'Basic eDp5' })
    expect(secret.body.error).toBe('invalid_client')
  })

  it('of one address may wait a hundred times, and the next one has to wait', async () => {
    const count = new DatabaseSync(join(stack.state, 'identity', 'identity.db'), { readOnly: true })
    const { waiting } = count.prepare('SELECT COUNT(*) AS waiting FROM pushed_requests').get() as {
      waiting: number
    }
    count.close()
    for (let at = waiting; at < 100; at++) expect((await push(apps.web)).status).toBe(201)
    const refused = await push(apps.web)
    expect(refused.body.error).toBe('temporarily_unavailable')
    expect(refused.headers.get('retry-after')).toBe('60')
    change('DELETE FROM pushed_requests')
  })
})

describe('CORS', () => {
  const preflight = (path: string, from: string) =>
    fetch(url + path, {
      method: 'OPTIONS',
      headers: {
        Origin: from,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'dpop',
      },
    })
  const allowedBy = ({ headers }: { headers: Headers }) => [
    headers.get('access-control-allow-origin'),
    headers.get('access-control-allow-credentials'),
  ]
  const paths = ['/token', '/revoke', '/par', '/userinfo', '/jwks', '/.well-known/openid-configuration']

  it.each(paths)('lets pages of a project ask %s before a request, without cookies', async (path) => {
    const answer = await preflight(path, origin)
    expect(answer.status).toBe(204)
    expect(allowedBy(answer)).toEqual([origin, null])
    expect(answer.headers.get('access-control-allow-headers')).toBe('Authorization, Content-Type, DPoP')
    expect(answer.headers.get('vary')).toContain('Origin')
  })

  it.each([
    'https://evil.example',
    'null',
    'http://app.example',
    'https://app.example:8443',
    'https://app.example.evil.example',
    'https://APP.example',
    'https://app.example/',
    '*',
  ])('allows nothing to %s', async (from) => {
    for (const path of paths) expect(allowedBy(await preflight(path, from))).toEqual([null, null])
    for (const path of [
      '/jwks',
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server',
    ]) {
      const answer = await fetch(url + path, { headers: { Origin: from } })
      expect(allowedBy(answer)).toEqual([null, null])
      expect(answer.headers.get('vary')).toContain('Origin')
    }
    const form = { grant_type: 'refresh_token', client_id: apps.web.clientId, refresh_token: 'x' }
    expect(allowedBy(await post(`${url}/token`, form, { Origin: from }))).toEqual([null, null])
  })

  it('of a real request depends on its own project alone: the origin of another project reads nothing', async () => {
    const { body } = await signInToApp(url, apps.web, person)
    const form = { client_id: apps.web.clientId, token: 'x' }
    const token = { grant_type: 'refresh_token', client_id: apps.web.clientId, refresh_token: 'x' }
    const info = (from: string) =>
      fetch(`${url}/userinfo`, { headers: { Authorization: `Bearer ${body.access_token}`, Origin: from } })
    for (const [from, expected] of [
      [origin, origin],
      ['https://other.example', null],
    ] as const) {
      const headers = { Origin: from }
      expect(allowedBy(await post(`${url}/token`, token, headers))[0]).toBe(expected)
      expect(allowedBy(await post(`${url}/revoke`, form, headers))[0]).toBe(expected)
      expect(allowedBy(await post(`${url}/par`, { client_id: apps.web.clientId }, headers))[0]).toBe(expected)
      expect(allowedBy(await info(from))[0]).toBe(expected)
    }
    for (const path of [
      '/introspect',
      '/device_authorization',
      identityPaths.consoleApi,
      identityPaths.authorize,
    ])
      expect(allowedBy(await preflight(path, origin))[0]).toBeNull()
  })

  it('ends with the origin of the project, and with the project', async () => {
    const app = await createApp({ origins: ['https://short.example'] })
    const isAllowed = async () => allowedBy(await preflight('/token', 'https://short.example'))[0] !== null
    expect(await isAllowed()).toBe(true)
    await person.api['project.update'](
      projectWith({ clientId: app.clientId, redirectUris: [webUri], origins: [] }),
    )
    expect(await isAllowed()).toBe(false)
    await person.api['project.update'](
      projectWith({ clientId: app.clientId, redirectUris: [webUri], origins: ['https://short.example'] }),
    )
    expect(await isAllowed()).toBe(true)
    await person.api['project.delete']({ clientId: app.clientId })
    expect(await isAllowed()).toBe(false)
  })
})

it('a person without a session cannot decide, and a stolen cookie decides nothing', async () => {
  const query = requestOf(apps.web, createPkce())
  const stranger = openConsole(url)
  await expect(
    stranger.api['authorization.decide']({ query, ticket: 'x', approve: true }),
  ).rejects.toMatchObject({ reason: 'signed_out' })
  const thief = openConsole(url, { Cookie: person.cookie() })
  await expect(
    thief.api['authorization.decide']({ query, ticket: 'x', approve: true }),
  ).rejects.toMatchObject({ reason: 'signed_out' })
})
