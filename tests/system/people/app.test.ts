/**
 * People sign in to apps on the page of the console, in Chromium. The app is a page of another origin with oidc-client-ts, unmodified:
 * `npm ci --prefix tests/system/clients/libraries` installs it.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as jose from 'jose'
import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPkce, requestOf } from '../../harness/app.ts'
import { adminOf, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import {
  becomeOwner,
  findObstacles,
  findOverflow,
  openBrowser,
  type PersonAtBrowser,
  takePictures,
} from '../../harness/person.ts'
import { root, type Stack, startStack } from '../../harness/processes.ts'

/** A web app: its pages load the library and leave the result of what they did in the title. */
const appPage = (settings: object) => `<!doctype html><meta charset="utf-8"><title>loading</title>
<script src="/oidc-client-ts.min.js"></script><body><script>
const manager = new oidc.UserManager({ ...${JSON.stringify(settings)}, userStore: new oidc.WebStorageStateStore({ store: localStorage }) })
const show = (value) => { document.title = JSON.stringify(value) }
const fail = (error) => show({ error: error.error ?? error.message, detail: String(error) })
const actions = {
  '/': () => manager.signinRedirect({ nonce: 'nonce-of-the-page' }),
  '/silent': () => manager.signinRedirect({ prompt: 'none' }),
  '/signed-in': async () => {
    const user = await manager.signinRedirectCallback()
    show({ sub: user.profile.sub, idToken: user.id_token, email: user.profile.email, scope: user.scope, token: user.access_token })
  },
  '/refresh': async () => show({ sub: (await manager.signinSilent()).profile.sub }),
  '/info': async () => {
    const { access_token } = await manager.getUser()
    const metadata = await manager.metadataService.getMetadata()
    const response = await fetch(metadata.userinfo_endpoint, { headers: { Authorization: 'Bearer ' + access_token } })
    show(await response.json())
  },
  '/sign-out': () => manager.signoutRedirect({ state: 'state-of-the-page' }),
  '/bye': async () => { await manager.signoutRedirectCallback(); show({ bye: true, user: await manager.getUser() }) },
  '/framing': () => new Promise((resolve) => {
    const frame = document.createElement('iframe')
    frame.onload = () => { let open = true; try { open = frame.contentDocument !== null } catch { open = false } ; resolve(show({ open })) }
    frame.src = new URLSearchParams(location.search).get('of')
    document.body.append(frame)
  }),
  '/steal': async () => {
    const read = {}
    for (const path of ['/token', '/userinfo', '/jwks', '/.well-known/openid-configuration'])
      read[path] = await fetch(${JSON.stringify('IDENTITY')} + path, { method: path === '/token' ? 'POST' : 'GET', body: path === '/token' ? new URLSearchParams('client_id=CLIENT&grant_type=x') : undefined })
        .then(() => 'read', () => 'hidden')
    show(read)
  },
}
actions[location.pathname]?.().catch(fail)
</script>`

describe('sign-in to an app', needs('chromium-headless-shell', 'client libraries'), () => {
  let stack: Stack
  let person: PersonAtBrowser
  let page: Page
  let server: Server
  let origin: string
  let clientId: string
  let html: string

  /** A web server with the pages of the app. */
  async function serveApp(): Promise<Server> {
    const library = readFileSync(
      join(
        root,
        'tests/system/clients/libraries/node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js',
      ),
    )
    const made = createServer(({ url = '' }, response) => {
      const isLibrary = url === '/oidc-client-ts.min.js'
      response.writeHead(200, { 'Content-Type': isLibrary ? 'text/javascript' : 'text/html' })
      response.end(isLibrary ? library : html)
    })
    made.listen(0, '127.0.0.1')
    await once(made, 'listening')
    return made
  }
  const originOf = (of: Server) => `http://127.0.0.1:${(of.address() as AddressInfo).port}`

  beforeAll(async () => {
    stack = await startStack()
    person = await openBrowser()
    page = person.page
    await becomeOwner(page, stack.identity.ready.setup!)
    server = await serveApp()
    origin = originOf(server)
    const created = await adminOf(stack.state)['project.create']({
      name: 'Van tracker',
      email: 'ada@example.com',
      scopes: ['openid', 'edge:mcm', 'edge:account:associate', 'offline_access'],
      resources: null,
      appType: 'browser',
      redirectUris: [`${origin}/signed-in`],
      postLogoutRedirectUris: [`${origin}/bye`],
      origins: [origin],
    })
    clientId = created.clientId
    html = appPage({
      authority: stack.identity.url,
      client_id: clientId,
      redirect_uri: `${origin}/signed-in`,
      post_logout_redirect_uri: `${origin}/bye`,
      scope: 'openid offline_access',
      loadUserInfo: true,
      automaticSilentRenew: false,
    })
      .replaceAll('IDENTITY', stack.identity.url)
      .replaceAll('CLIENT', clientId)
  })
  afterAll(async () => {
    server?.close()
    await person?.close()
    await stack?.stop()
  })

  /** What a page of the app shows at the end. */
  async function resultOf(path: string, meanwhile: () => Promise<unknown> = async () => undefined) {
    await page.goto(origin + path)
    await meanwhile()
    await page.waitForFunction(() => document.title.startsWith('{'))
    return JSON.parse(await page.title()) as Record<string, unknown>
  }
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  it('is set up on the page of the project', async () => {
    const site = new URL(stack.identity.ready.setup!).origin
    await page.goto(`${site}/projects/${clientId}/settings`)
    await page.getByText('Sign-in for users of an app').click()
    expect(await page.getByLabel('Redirect URIs').inputValue()).toBe(`${origin}/signed-in`)
    expect(await page.getByLabel('Kind of app').inputValue()).toBe('browser')
    await takePictures(page, 'project-app')
    await page.getByLabel('Origins').fill(`${origin} https://vans.example/`)
    await button('Save changes').click()
    await page.getByText('it is not an origin as browsers send it').waitFor()
    await page.getByLabel('Origins').fill(`${origin} https://vans.example`)
    await button('Save changes').click()
    await page.getByText('Saved.').waitFor()
    const [project] = await adminOf(stack.state)['project.list']()
    expect(project).toMatchObject({ origins: [origin, 'https://vans.example'], appType: 'browser' })
  })

  it('shows the app, its scopes and the account, and returns to the app with tokens that the library accepts', async () => {
    const result = await resultOf('/', async () => {
      await page.getByRole('heading', { name: 'Sign in to Van tracker?' }).waitFor()
      const shown = (await page.locator('main').textContent())!
      for (const text of [
        'Your account',
        'ada@example.com',
        'Know who you are',
        'Stay signed in',
        new URL(origin).host,
      ])
        expect(shown).toContain(text)
      expect(await findObstacles(page)).toEqual([])
      await takePictures(page, 'authorize')
      await button('Approve').click()
    })
    expect(result).toMatchObject({
      email: 'ada@example.com',
      scope: 'openid offline_access',
      token: expect.any(String),
    })
    expect(jose.decodeJwt(result.idToken as string)).toMatchObject({ nonce: 'nonce-of-the-page' })
    expect(new URL(page.url()).pathname).toBe('/signed-in')
    expect(await resultOf('/refresh')).toEqual({ sub: result.sub })
    expect(await resultOf('/info')).toMatchObject({ sub: result.sub, email: 'ada@example.com' })
  })

  it('refuses an answer without a person to an app on this device', async () => {
    const sent: string[] = []
    const note = (request: Request) => sent.push(new URL(request.url()).pathname)
    page.on('request', note)
    // The redirect URI is of the loopback interface, where any program can listen.
    expect(await resultOf('/silent')).toMatchObject({
      error: expect.stringMatching(/state|consent_required/),
    })
    page.off('request', note)
    // The page brings the nonce, and does not have to show who is signed in.
    expect(sent.filter((path) => path.startsWith('/console/'))).toEqual(['/console/api'])
    expect(page.url()).toContain('error=consent_required')
  })

  it('sends access_denied to the app when the person denies', async () => {
    await resultOf('/', () => button('Deny').click())
    expect(page.url()).toContain('error=access_denied')
  })

  it('names the device, warns that it is not in the account yet, and fits a narrow page', async () => {
    const { id_token: edge } = await runtimeOf(stack).getEdgeIdToken()
    const app = { clientId, redirectUri: `${origin}/signed-in` }
    const query = requestOf(app, createPkce(), {
      scope: 'openid edge:account:associate',
      edge_id_token: edge,
    })
    const { name } = await runtimeOf(stack).getMe()
    await page.goto(`${new URL(stack.identity.ready.setup!).origin}/authorize?${query}`)
    await page.getByRole('heading', { name: 'Sign in to Van tracker?' }).waitFor()
    const shown = (await page.locator('main').textContent())!
    for (const text of [name, 'Not in your account yet', 'Add devices to the account'])
      expect(shown).toContain(text)
    await takePictures(page, 'authorize-device')
    await page.setViewportSize({ width: 320, height: 720 })
    expect(await page.evaluate(findOverflow)).toEqual([])
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  it('shows the reason where client or redirect URI are wrong, and sends the browser nowhere', async () => {
    const wrong = requestOf({ clientId, redirectUri: `${origin}/evil` }, createPkce())
    const response = await page.goto(`${new URL(stack.identity.ready.setup!).origin}/authorize?${wrong}`)
    expect(response!.status()).toBe(400)
    await page.getByRole('heading', { name: 'The app’s request can’t be answered' }).waitFor()
    await takePictures(page, 'authorize-refused')
    expect(new URL(page.url()).pathname).toBe('/authorize')
  })

  it('opens in no frame of the app', async () => {
    const query = requestOf({ clientId, redirectUri: `${origin}/signed-in` }, createPkce())
    const target = `${new URL(stack.identity.ready.setup!).origin}/authorize?${query}`
    expect(await resultOf(`/framing?of=${encodeURIComponent(target)}`)).toEqual({ open: false })
    const frame = page.frames()[1]!
    expect(await frame.getByRole('heading', { name: 'Sign in to Van tracker?' }).count()).toBe(0)
  })

  it('lets the page of another origin read nothing', async () => {
    const hostile = await serveApp()
    const all = ['/token', '/userinfo', '/jwks', '/.well-known/openid-configuration']
    await page.goto(`${originOf(hostile)}/steal`)
    await page.waitForFunction(() => document.title.startsWith('{'))
    expect(JSON.parse(await page.title())).toEqual(Object.fromEntries(all.map((path) => [path, 'hidden'])))
    // The same script at the app's own origin; without a token /userinfo has no client.
    expect(await resultOf('/steal')).toEqual({
      ...Object.fromEntries(all.map((path) => [path, 'read'])),
      '/userinfo': 'hidden',
    })
    hostile.close()
  })

  it('ends with a logout that the person confirms, and the library accepts the return', async () => {
    const result = await resultOf('/sign-out', async () => {
      await page.getByRole('heading', { name: 'Sign out of Van tracker?' }).waitFor()
      await takePictures(page, 'logout')
      await button('Sign out of Van tracker only').click()
    })
    expect(result).toEqual({ bye: true, user: null })
    expect(page.url()).toContain('state=')
  })

  it('signs a person in first, with the address that the app names, and continues', async () => {
    const url = new URL(stack.identity.ready.setup!).origin
    await page.goto(url)
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
    await page.goto(`${url}/logout`)
    await button('Sign out').click()
    await page.getByRole('heading', { name: 'Signed out' }).waitFor()
    const app = { clientId, redirectUri: `${origin}/signed-in` }
    await page.goto(
      `${url}/authorize?${requestOf(app, createPkce(), { login_hint: 'ada@example.com', prompt: 'login' })}`,
    )
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    expect(await page.getByLabel('Email').inputValue()).toBe('ada@example.com')
    await button('Sign in with a passkey').click()
    // The sign-in was after the request, so prompt=login is satisfied.
    await button('Approve').click()
    await page.waitForURL(`${origin}/signed-in?code=*`)
  })

  it('leaves no complaint in the console of the pages', () => {
    const own = person.complaints.filter(
      (each) => !/CORS|ERR_FAILED|frame|400 \(Bad Request\)|401/i.test(each),
    )
    expect(own).toEqual([])
  })
})
