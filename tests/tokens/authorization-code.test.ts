/** Sign-in to an app with authorization code and PKCE, as the app sees it; tests/people has the page. */
import { hash } from 'node:crypto'
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type App, authorize, createPkce, decide, redeem, requestOf, signInToApp } from '../harness/app.ts'
import { cliEnvOf } from '../harness/cli.ts'
import { runCliHere } from '../harness/cli-here.ts'
import { type ConsoleSession, enterByLink, openConsole, projectWith } from '../harness/console.ts'
import { adminOf, runtimeOf } from '../harness/flow.ts'
import { createProofKey, post, postProven } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'
import { createProgramClock, type ProgramClock } from '../harness/program-clock.ts'

const redirectUri = 'https://app.example/signed-in'
const afterLogout = 'https://app.example/bye'
const origin = 'https://app.example'

let clock: ProgramClock
let stack: Stack
let url: string
let person: ConsoleSession
let app: App
let other: App
beforeAll(async () => {
  clock = await createProgramClock()
  stack = await startStack({ envOf: { identity: clock.env } })
  url = stack.identity.url
  person = await enterByLink(url, stack.identity.ready.setup!, 'ada@example.com')
  await person.api['password.set']({ password: 'three quiet herons at dusk' })
  app = await createApp()
  other = await createApp()
})
afterAll(async () => {
  await stack?.stop()
  await clock?.remove()
})

async function createApp(more: object = {}): Promise<App> {
  const { clientId } = await person.api['project.create'](
    projectWith({
      redirectUris: [redirectUri],
      postLogoutRedirectUris: [afterLogout],
      origins: [origin],
      ...more,
    }),
  )
  return { clientId, redirectUri }
}

/** What happens with a new request of an app in this session. */
const stepOf = async (of: App) =>
  (await person.api['authorization.begin']({ query: requestOf(of, createPkce()), ticket: null })).step
const meOf = async () => (await person.api['session.get']()).viewer!
const userInfo = async (token: string) => {
  const response = await fetch(`${url}/userinfo`, { headers: { Authorization: `Bearer ${token}` } })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
const isActive = async (token: string, { clientId } = app) =>
  (await post(`${url}/introspect`, { token, client_id: clientId })).body.active
const refresh = (token: string, { clientId } = app) =>
  post(`${url}/token`, { grant_type: 'refresh_token', client_id: clientId, refresh_token: token })

describe('a sign-in to an app', () => {
  it('returns code, state and issuer, and tokens for the person once', async () => {
    const pkce = createPkce()
    const answer = await decide(person, requestOf(app, pkce))
    expect(answer.origin + answer.pathname).toBe(redirectUri)
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      code: expect.stringMatching(/^[\w-]{43}$/),
      state: 'state-of-the-app',
      iss: url,
    })
    const { status, body } = await redeem(url, app, { code: answer.searchParams.get('code')!, ...pkce })
    expect(status).toBe(200)
    expect(body).toMatchObject({ token_type: 'Bearer', scope: 'openid offline_access' })
    const me = await meOf()
    const keys = jose.createRemoteJWKSet(new URL('/jwks', url))
    const { payload } = await jose.jwtVerify(body.id_token!, keys, {
      issuer: url,
      audience: app.clientId,
      typ: 'app-id+jwt',
    })
    expect(payload).toMatchObject({
      sub: me.personId,
      account_id: me.accountId,
      email: 'ada@example.com',
      nonce: 'nonce-of-the-app',
      auth_time: expect.any(Number),
      sid: expect.any(String),
      at_hash: hash('sha256', body.access_token!, 'buffer').subarray(0, 16).toString('base64url'),
    })
    expect(jose.decodeJwt(body.access_token!)).toMatchObject({ sub: me.personId, sid: payload.sid, aud: url })
    expect(await userInfo(body.access_token!)).toEqual({
      status: 200,
      body: { sub: me.personId, account_id: me.accountId, email: 'ada@example.com' },
    })
  })

  it('is listed, refreshes without a nonce, and ends when the person revokes it', async () => {
    const { body } = await signInToApp(url, app, person)
    const { sid, nonce: _, ...claims } = jose.decodeJwt(body.id_token!)
    const refreshed = await refresh(body.refresh_token!)
    expect(jose.decodeProtectedHeader(refreshed.body.id_token!)).toMatchObject({ typ: 'app-id+jwt' })
    expect(jose.decodeJwt(refreshed.body.id_token!)).toMatchObject({
      sub: claims.sub,
      aud: claims.aud,
      auth_time: claims.auth_time,
      sid,
    })
    expect(jose.decodeJwt(refreshed.body.id_token!).nonce).toBeUndefined()
    const [signIn] = (await person.api['sign_in.list']()).filter((each) => each.sid === sid)
    expect(signIn).toMatchObject({ clientId: app.clientId, scope: 'openid offline_access' })
    await person.api['sign_in.revoke']({ sid: sid as string })
    expect((await refresh(refreshed.body.refresh_token!)).body.error).toBe('invalid_grant')
    expect(await isActive(refreshed.body.access_token!)).toBe(false)
    expect(await stepOf(app)).toBe('consent')
  })

  it('without offline_access and openid has neither a refresh token nor an ID token', async () => {
    const bare = await createApp({ scopes: ['openid'] })
    const { body } = await signInToApp(url, bare, person, { scope: 'openid' })
    expect(body.refresh_token).toBeUndefined()
    expect(body.id_token).toBeDefined()
    expect(await isActive(body.access_token!, bare)).toBe(true)
  })

  it('that the person refuses gets access_denied, and nothing else', async () => {
    const answer = await decide(person, requestOf(app, createPkce()), false)
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      error: 'access_denied',
      error_description: 'the person refused',
      state: 'state-of-the-app',
      iss: url,
    })
  })

  it('keeps a query that the redirect URI has', async () => {
    const queried = 'https://app.example/cb?tenant=7'
    const own = { ...(await createApp({ redirectUris: [queried] })), redirectUri: queried }
    const answer = await decide(person, requestOf(own, createPkce()))
    expect(answer.href).toMatch(/^https:\/\/app\.example\/cb\?tenant=7&code=/)
  })
})

describe('the app of a project', () => {
  const settings = { redirectUris: [redirectUri], postLogoutRedirectUris: [afterLogout], origins: [origin] }
  const listed = async (clientId: string) =>
    (await adminOf(stack.state)['project.list']()).find((each) => each.clientId === clientId)!

  it('is set by the operator, option by option', async () => {
    const run = (...args: string[]) => runCliHere(['admin', 'project', ...args, '--json'], cliEnvOf(stack))
    const created = await run('create', '--name', 'vans', '--type', 'browser', '--redirect-uris', redirectUri)
    const { clientId } = JSON.parse(created.out)
    expect(await listed(clientId)).toMatchObject({
      appType: 'browser',
      redirectUris: [redirectUri],
      origins: [],
    })
    await run('update', clientId, '--origins', origin, '--users', 'anyone')
    await run('update', clientId, '--post-logout-redirect-uris', afterLogout, '--redirect-uris', '')
    expect(await listed(clientId)).toMatchObject({
      appType: 'browser',
      appUsers: 'anyone',
      redirectUris: [],
      postLogoutRedirectUris: [afterLogout],
      origins: [origin],
    })
    expect((await run('update', clientId, '--type', 'desktop')).code).toBe(2)
    const refused = await run('update', clientId, '--redirect-uris', 'https://app.example/#x')
    expect([refused.code, refused.errors]).toEqual([2, expect.stringContaining('fragment')])
  })

  it('keeps what a change does not name, and other settings of the project', async () => {
    const { clientId } = await createApp(settings)
    await person.api['project.update'](projectWith({ clientId, name: 'renamed' }))
    expect(await listed(clientId)).toMatchObject({ name: 'renamed', ...settings })
    await adminOf(stack.state)['project.update']({ clientId, appType: 'native' })
    expect(await listed(clientId)).toMatchObject({ name: 'renamed', appType: 'native', ...settings })
  })

  it.each([
    [
      'more than 20 redirect URIs',
      { redirectUris: Array.from({ length: 21 }, (_, at) => `${origin}/${at}`) },
    ],
    ['more than 20 origins', { origins: Array.from({ length: 21 }, (_, at) => `https://a${at}.example`) }],
    ['a redirect URI of 1,001 characters', { redirectUris: [`${origin}/${'a'.repeat(1000)}`] }],
    ['a redirect URI with a second spelling', { redirectUris: ['https://APP.example/'] }],
    ['a wildcard as a place after the logout', { postLogoutRedirectUris: ['https://app.example/*'] }],
    ['a private-use scheme of a web app', { redirectUris: ['com.example.app:/cb'] }],
    ['an origin with a path', { origins: ['https://app.example/'] }],
    ['the origin of a sandboxed frame', { origins: ['null'] }],
    ['a type that does not exist', { appType: 'spa' }],
  ])('cannot have %s', async (_, wrong) => {
    await expect(createApp({ ...settings, ...wrong })).rejects.toMatchObject({ reason: 'invalid_params' })
  })

  it('that becomes a web app may not keep the addresses of an installed one', async () => {
    const { clientId } = await createApp({ appType: 'native', redirectUris: ['com.example.app:/cb'] })
    const change = person.api['project.update'](projectWith({ clientId, appType: 'web' }))
    await expect(change).rejects.toMatchObject({ reason: 'invalid_params' })
  })
})

describe('prompt, max_age and hints', () => {
  const begin = (session: ConsoleSession, more: Record<string, string | undefined>) =>
    session.api['authorization.begin']({ query: requestOf(app, createPkce(), more), ticket: null })
  const errorOf = async (session: ConsoleSession, more: Record<string, string | undefined>) => {
    const step = await begin(session, more)
    return step.step === 'return' ? new URL(step.to).searchParams.get('error') : step.step
  }

  it('without a person: the sign-in with the hint, or login_required', async () => {
    const stranger = openConsole(url)
    expect(await begin(stranger, { login_hint: 'ada@example.com' })).toMatchObject({
      step: 'sign_in',
      loginHint: 'ada@example.com',
    })
    expect(await errorOf(stranger, { prompt: 'none' })).toBe('login_required')
  })

  it('needs one approval in a session, and another with prompt=consent', async () => {
    const own = await createApp()
    const query = () => requestOf(own, createPkce())
    const silent = async () => {
      const step = await person.api['authorization.begin']({
        query: requestOf(own, createPkce(), { prompt: 'none' }),
        ticket: null,
      })
      return step.step === 'return' ? [...new URL(step.to).searchParams.keys()][0] : step.step
    }
    expect(await silent()).toBe('error')
    await decide(person, query())
    expect(await silent()).toBe('code')
    expect((await person.api['authorization.begin']({ query: query(), ticket: null })).step).toBe('return')
    for (const prompt of ['consent', 'select_account', 'login consent'])
      expect(
        (
          await person.api['authorization.begin']({
            query: requestOf(own, createPkce(), { prompt }),
            ticket: null,
          })
        ).step,
      ).toBe('consent')
  })

  it('needs another approval for more scopes', async () => {
    const own = await createApp()
    await decide(person, requestOf(own, createPkce(), { scope: 'openid' }))
    const step = await person.api['authorization.begin']({
      query: requestOf(own, createPkce(), { scope: 'openid offline_access' }),
      ticket: null,
    })
    expect(step.step).toBe('consent')
  })

  it('wants a sign-in after the request with prompt=login, and one that is young enough with max_age', async () => {
    await clock.advance(5000)
    for (const more of [{ prompt: 'login' }, { max_age: '0' }, { max_age: '3' }]) {
      const query = requestOf(app, createPkce(), more)
      const step = await person.api['authorization.begin']({ query, ticket: null })
      if (step.step !== 'consent') throw new Error(step.step)
      const { ticket } = step
      await expect(
        person.api['authorization.decide']({ query, ticket, approve: true }),
      ).rejects.toMatchObject({ reason: 'step_up_required' })
      await clock.advance(1000)
      await person.api['sign_in.password']({
        email: 'ada@example.com',
        password: 'three quiet herons at dusk',
      })
      expect(await person.api['authorization.decide']({ query, ticket, approve: true })).toMatchObject({
        step: 'return',
      })
      await clock.advance(5000)
    }
    expect(await errorOf(person, { prompt: 'none', max_age: '1' })).toBe('login_required')
    expect(await errorOf(person, { max_age: '100000' })).not.toBe('login_required')
  })

  it('sends a person away whom the app did not expect', async () => {
    const { body } = await signInToApp(url, app, person)
    const { link } = await person.api['member.invite']({ role: 'member' })
    const mia = await enterByLink(url, link, 'mia@example.com')
    expect(await errorOf(mia, { prompt: 'none', id_token_hint: body.id_token! })).toBe('login_required')
    const query = requestOf(app, createPkce(), { id_token_hint: body.id_token! })
    const step = await mia.api['authorization.begin']({ query, ticket: null })
    expect(step).toMatchObject({
      step: 'consent',
      consent: { obstacle: expect.stringMatching(/another person/) },
    })
    await expect(
      mia.api['authorization.decide']({ query, ticket: (step as { ticket: string }).ticket, approve: true }),
    ).rejects.toMatchObject({ reason: 'forbidden' })
  })
})

describe('a request in its unusual forms', () => {
  const answerTo = async (more: Record<string, string | undefined>) => {
    const pkce = createPkce()
    const answer = await decide(person, requestOf(app, pkce, more))
    const { body } = await redeem(url, app, { code: answer.searchParams.get('code')!, ...pkce })
    return { answer, body, claims: jose.decodeJwt(body.id_token!) }
  }

  it('as a form is the same request', async () => {
    const query = requestOf(app, createPkce())
    const target = `${url.replace('127.0.0.1', 'localhost')}/authorize`
    const posted = await fetch(target, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: query,
      redirect: 'manual',
    })
    expect([posted.status, posted.headers.get('location')]).toEqual([303, `${target}?${query}`])
  })

  it('at the host name of the issuer continues at that of the console', async () => {
    const query = requestOf(app, createPkce())
    const moved = await fetch(`${url}/authorize?${query}`, { redirect: 'manual' })
    const target = `${url.replace('127.0.0.1', 'localhost')}/authorize?${query}`
    expect([moved.status, moved.headers.get('location')]).toEqual([307, target])
  })

  it('without a nonce gets an ID token without one', async () => {
    expect((await answerTo({ nonce: undefined })).claims.nonce).toBeUndefined()
  })

  it('without a state gets an answer without one', async () => {
    expect((await answerTo({ state: undefined })).answer.searchParams.has('state')).toBe(false)
  })

  it('gets a long state and a long nonce back unchanged', async () => {
    const [state, nonce] = ['s&=%+ ~'.repeat(300), 'n'.repeat(64)]
    const { answer, claims } = await answerTo({ state, nonce })
    expect([answer.searchParams.get('state'), claims.nonce]).toEqual([state, nonce])
  })

  it('may have its scopes in any order', async () => {
    expect((await answerTo({ scope: 'offline_access openid' })).body.scope).toBe('offline_access openid')
  })

  it('may have parameters that this service ignores', async () => {
    const ignored = {
      display: 'popup',
      ui_locales: 'se',
      claims_locales: 'se',
      acr_values: '1 2',
      claims: '{"id_token":{"auth_time":{"essential":true}}}',
      unknown: 'x',
      empty: '',
    }
    expect((await answerTo(ignored)).claims.auth_time).toEqual(expect.any(Number))
  })

  it('UserInfo answers GET and POST alike', async () => {
    const { body } = await answerTo({})
    const headers = { Authorization: `Bearer ${body.access_token}` }
    const answers = await Promise.all(
      ['GET', 'POST'].map(async (method) => (await fetch(`${url}/userinfo`, { method, headers })).json()),
    )
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]).toMatchObject({ email: 'ada@example.com' })
  })

  it('pushed with another method than POST is refused', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const { status, headers } = await fetch(`${url}/par`, { method })
      expect([status, headers.get('allow')]).toEqual([405, 'POST'])
    }
  })
})

it('the metadata name everything that an app needs', async () => {
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
    const site = url.replace('127.0.0.1', 'localhost')
    expect(await (await fetch(url + path)).json()).toMatchObject({
      issuer: url,
      authorization_endpoint: `${site}/authorize`,
      end_session_endpoint: `${site}/logout`,
      token_endpoint: `${url}/token`,
      userinfo_endpoint: `${url}/userinfo`,
      jwks_uri: `${url}/jwks`,
      pushed_authorization_request_endpoint: `${url}/par`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: expect.arrayContaining(['authorization_code', 'refresh_token']),
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      scopes_supported: expect.arrayContaining(['openid', 'offline_access']),
      claims_supported: expect.arrayContaining(['sub', 'iss', 'auth_time', 'email']),
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
      token_endpoint_auth_methods_supported: ['none'],
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
    })
  }
})

describe('a sign-in for one device', () => {
  it('binds code, tokens and refreshed tokens to the node', async () => {
    const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
    const { nodeId } = await runtimeOf(stack).getMe()
    const scope = 'openid edge:account:associate edge:mcm offline_access'
    const { body } = await signInToApp(url, app, person, { scope, edge_id_token: edge })
    const { accountId, personId } = await meOf()
    for (const token of [body.access_token!, (await refresh(body.refresh_token!)).body.access_token!])
      expect(jose.decodeJwt(token)).toMatchObject({
        node_id: nodeId,
        act: { sub: nodeId },
        sub: personId,
        account_id: accountId,
        aud: 'urn:selvedge:edge',
        scope,
      })
    expect(await runtimeOf(stack).associateAccount({ edgeAccessToken: body.access_token! })).toEqual({
      accountId,
    })
    expect((await userInfo(body.access_token!)).status).toBe(200)
  })
})

describe('a pushed request', () => {
  it('replaces the parameters, once', async () => {
    const pkce = createPkce()
    const pushed = await post(`${url}/par`, Object.fromEntries(new URLSearchParams(requestOf(app, pkce))))
    expect(pushed.status).toBe(201)
    expect(pushed.body).toEqual({
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]{43}$/),
      expires_in: 300,
    })
    const query = new URLSearchParams({
      client_id: app.clientId,
      request_uri: pushed.body.request_uri!,
    }).toString()
    expect((await authorize(url, query)).status).toBe(200)
    const answer = await decide(person, query)
    expect(answer.searchParams.get('state')).toBe('state-of-the-app')
    const { status } = await redeem(url, app, { code: answer.searchParams.get('code')!, ...pkce })
    expect(status).toBe(200)
    expect(await person.api['authorization.begin']({ query, ticket: null })).toMatchObject({
      step: 'refused',
    })
  })

  it('with a proof binds the code to its key', async () => {
    const pkce = createPkce()
    const key = createProofKey()
    const form = Object.fromEntries(new URLSearchParams(requestOf(app, pkce)))
    const pushed = await postProven(`${url}/par`, form, key)
    const query = new URLSearchParams({
      client_id: app.clientId,
      request_uri: pushed.body.request_uri!,
    }).toString()
    const code = (await decide(person, query)).searchParams.get('code')!
    expect((await redeem(url, app, { code, ...pkce })).body.error).toBe('invalid_grant')
    const stranger = createProofKey()
    expect((await redeem(url, app, { code, ...pkce }, {}, stranger)).body.error).toBe('invalid_grant')
    const { body } = await redeem(url, app, { code, ...pkce }, {}, key)
    expect(jose.decodeJwt(body.access_token!)).toMatchObject({ cnf: { jkt: key.jkt } })
  })
})

describe('a logout', () => {
  it('ends the tokens of the app, and returns to where the project allows', async () => {
    const { body } = await signInToApp(url, app, person)
    const query = new URLSearchParams({
      id_token_hint: body.id_token!,
      post_logout_redirect_uri: afterLogout,
      state: 's 1',
    }).toString()
    expect(await person.api['logout.look']({ query })).toMatchObject({ obstacle: null, appName: 'A project' })
    expect(await isActive(body.access_token!)).toBe(true)
    expect(await stepOf(app)).toBe('return')
    expect(await person.api['logout.finish']({ query, everywhere: false })).toMatchObject({
      returnTo: `${afterLogout}?state=s+1`,
    })
    expect(await isActive(body.access_token!)).toBe(false)
    expect((await refresh(body.refresh_token!)).body.error).toBe('invalid_grant')
    expect(await stepOf(app)).toBe('consent')
    expect((await person.api['session.get']()).viewer).not.toBeNull()
    await person.api['logout.finish']({ query: '', everywhere: true })
    expect((await person.api['session.get']()).viewer).toBeNull()
    await person.api['sign_in.password']({ email: 'ada@example.com', password: 'three quiet herons at dusk' })
  })

  it('without an address to return to ends the tokens of the app, or the session alone, and stays at its page', async () => {
    const { body } = await signInToApp(url, app, person)
    const query = new URLSearchParams({ id_token_hint: body.id_token!, state: 's' }).toString()
    const stays = { returnTo: null, obstacle: null }
    expect(await person.api['logout.finish']({ query, everywhere: false })).toMatchObject(stays)
    expect(await isActive(body.access_token!)).toBe(false)
    expect(await person.api['logout.finish']({ query: 'state=s', everywhere: true })).toMatchObject(stays)
    expect((await person.api['session.get']()).viewer).toBeNull()
    await person.api['sign_in.password']({ email: 'ada@example.com', password: 'three quiet herons at dusk' })
  })

  it.each([
    ['a URI that is not registered', async () => ({ post_logout_redirect_uri: 'https://evil.example/' })],
    ['a registered URI without its app', async () => ({ post_logout_redirect_uri: afterLogout })],
    [
      'a registered URI and a query that was added',
      async () => ({
        id_token_hint: (await signInToApp(url, app, person)).body.id_token!,
        post_logout_redirect_uri: `${afterLogout}?more=1`,
      }),
    ],
    ['a malformed token', async () => ({ id_token_hint: 'x.y.z' })],
    [
      'an ID token with another signature',
      async () => {
        const { id_token } = (await signInToApp(url, app, person)).body
        const [header, payload, signature = ''] = id_token!.split('.')
        const other = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
        return { id_token_hint: `${header}.${payload}.${other}` }
      },
    ],
    [
      'the ID token of another app',
      async () => ({
        id_token_hint: (await signInToApp(url, other, person)).body.id_token!,
        client_id: app.clientId,
      }),
    ],
    [
      'an access token',
      async () => ({ id_token_hint: (await signInToApp(url, app, person)).body.access_token! }),
    ],
  ])('with %s ends nothing and redirects no browser', async (_, paramsOf) => {
    const query = new URLSearchParams(await paramsOf()).toString()
    expect(await person.api['logout.finish']({ query, everywhere: true })).toEqual({
      appName: '',
      returnTo: null,
      obstacle: expect.any(String),
    })
    expect((await person.api['session.get']()).viewer).not.toBeNull()
  })
})

// Last: the clock of the other daemons does not move with it.
describe('times', () => {
  it('of a code are 60 seconds', async () => {
    const pkce = createPkce()
    const codeOf = async () => (await decide(person, requestOf(app, pkce))).searchParams.get('code')!
    const [early, late] = [await codeOf(), await codeOf()]
    await clock.advance(50_000)
    expect((await redeem(url, app, { code: early, ...pkce })).status).toBe(200)
    await clock.advance(11_000)
    expect((await redeem(url, app, { code: late, ...pkce })).body.error).toBe('invalid_grant')
  })

  it('of a pushed request are five minutes', async () => {
    const form = Object.fromEntries(new URLSearchParams(requestOf(app, createPkce())))
    const pushed = await post(`${url}/par`, form)
    const query = `client_id=${app.clientId}&request_uri=${pushed.body.request_uri}`
    expect((await authorize(url, query)).status).toBe(200)
    await clock.advance(301_000)
    expect((await authorize(url, query)).status).toBe(400)
  })
})
