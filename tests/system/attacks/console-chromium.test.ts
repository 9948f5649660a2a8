/**
 * The owner's browser visits what is hostile on the same host: a service of the device, and another local web server. Both get
 * the cookies of the host, since these go to every port (RFC 6265 § 8.5).
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { identityPaths } from '@selvedge/protocol'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, openConsole } from '../../harness/console.ts'
import { adminOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { openBrowser, type PersonAtBrowser } from '../../harness/person.ts'
import { type Services, startServices } from '../../harness/services.ts'

/** What a page of this origin finds of the console: its database, and what its API answers. */
const thief = (consoleUrl: string) => `<!doctype html><title>loading</title><script>
(async () => {
  const tries = { cookies: document.cookie, databases: (await indexedDB.databases()).length }
  for (const [name, init] of [
    ['call', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"jsonrpc":"2.0","id":1,"method":"session.get"}' }],
    ['simple', { method: 'POST', body: '{}' }],
    ['nonce', {}],
  ]) {
    const path = name === 'nonce' ? '${identityPaths.consoleNonce}' : '${identityPaths.consoleApi}'
    tries[name] = await fetch('${consoleUrl}' + path, { credentials: 'include', ...init }).then(({ status }) => status, ({ name }) => name)
  }
  document.title = JSON.stringify(tries)
})()
</script>`

describe('in the browser of the owner', needs('chromium-headless-shell'), () => {
  let services: Services
  let person: PersonAtBrowser
  let context: BrowserContext
  let page: Page
  /** Another web server of the same host, and what it has read. */
  let hostile: Server
  let hostileUrl: string
  const read: string[] = []
  /** Set-Cookie headers that it answers with. */
  let setting: string[] = []
  let consoleUrl: string
  /** The owner of another account, with a session of its own. */
  let eve: ConsoleSession

  beforeAll(async () => {
    services = await startServices()
    const { url } = services.stack.identity
    const admin = adminOf(services.stack.state)
    const linkOf = async (email: string) => {
      await admin['account.create']({ email })
      return (await admin['account.link']({ email })).link
    }
    const link = await linkOf('ada@example.com')
    consoleUrl = new URL(link).origin
    hostile = createServer(({ headers }, response) => {
      read.push(headers.cookie ?? '')
      response.writeHead(200, { 'Content-Type': 'text/html', 'Set-Cookie': setting })
      response.end(thief(consoleUrl))
    }).listen(0, '127.0.0.1')
    await once(hostile, 'listening')
    hostileUrl = `http://localhost:${(hostile.address() as AddressInfo).port}`
    person = await openBrowser()
    ;({ context, page } = person)
    await page.goto(link)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Create passkey' }).click()
    await shows('Devices')
    eve = await enterByLink(url, await linkOf('eve@example.com'), 'eve@example.com')
  })
  afterAll(async () => {
    await person?.close()
    hostile?.closeAllConnections()
    hostile?.close()
    await services?.stop()
  })

  const identityUrl = () => services.stack.identity.url
  const cookieHeader = async () =>
    (await context.cookies(consoleUrl)).map(({ name, value }) => `${name}=${value}`).join('; ')
  const secretOf = async () =>
    (await context.cookies(consoleUrl)).find(({ name }) => name === 'selvedge_session')!.value
  const shows = (heading: string, tab = page) =>
    tab.getByRole('heading', { name: heading, level: 1 }).waitFor()
  const openDevices = async (tab = page) => {
    await tab.goto(`${consoleUrl}/devices`)
    await shows('Devices', tab)
  }
  async function signIn(tab = page) {
    await tab.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await shows('Devices', tab)
  }
  /** What a page of the hostile server finds. */
  async function visitHostile(): Promise<Record<string, unknown>> {
    const tab = await context.newPage()
    await tab.goto(hostileUrl)
    await tab.waitForFunction(() => document.title.startsWith('{'))
    const found = JSON.parse(await tab.title())
    await tab.close()
    return found
  }

  it('a service behind the gateway reads no session, and changes none', async () => {
    const source = `export default { fetch: (request) => new Response(String(request.headers.get('cookie')), {
      headers: { 'Set-Cookie': 'selvedge_session=; Path=/; Max-Age=0', 'Clear-Site-Data': '"cookies"' } }) }`
    const env = { 'MCM.ACCESS': 'public', 'MCM.PAGES': 'trusted' }
    const { basePath } = await services.deploy('thief', source, env)
    const secret = await secretOf()
    const tab = await context.newPage()
    await tab.goto(services.url().replace('127.0.0.1', 'localhost') + basePath)
    expect(await tab.textContent('body')).toBe('null')
    await tab.close()
    expect(await secretOf()).toBe(secret)
    await openDevices()
  })

  it('another local web server gets the cookie, and can do nothing with it', async () => {
    read.length = 0
    await visitHostile()
    const stolen = read[0]!
    // That the browser sends it is what this test is about.
    expect(stolen).toContain(await secretOf())

    const call = { jsonrpc: '2.0', id: 1, method: 'device.list', params: { page: 0, search: '' } }
    const headers = { 'Content-Type': 'application/json', Cookie: stolen }
    const bare = await fetch(identityUrl() + identityPaths.consoleApi, {
      method: 'POST',
      redirect: 'error',
      headers,
      body: JSON.stringify(call),
    })
    expect(bare.status).toBe(401)
    const keyed = openConsole(identityUrl(), { Cookie: stolen })
    await expect(keyed.api['device.list'](call.params)).rejects.toMatchObject({ reason: 'signed_out' })
    expect((await keyed.api['session.get']()).viewer).toBeNull()
    expect((await keyed.get(identityPaths.consoleEvents)).status).toBe(401)

    await page.goto(`${consoleUrl}/audit`)
    await page.getByText('its cookie came without a proof of its key').first().waitFor()
  })

  it('its pages read neither the cookie nor the key, and reach nothing of the API', async () => {
    expect(await visitHostile()).toEqual({
      cookies: '',
      databases: 0,
      call: 'TypeError',
      simple: 'TypeError',
      nonce: 'TypeError',
    })
  })

  it('a proof that was copied from the browser is refused as used', async () => {
    const sent = page.waitForRequest((request) => request.url().endsWith(identityPaths.consoleApi))
    await page.goto(`${consoleUrl}/people`)
    await shows('People')
    const request = await sent
    const proof = (await request.allHeaders()).dpop!
    expect(proof).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    const answer = await fetch(identityUrl() + identityPaths.consoleApi, {
      method: 'POST',
      redirect: 'error',
      headers: { 'Content-Type': 'application/json', Cookie: await cookieHeader(), DPoP: proof },
      body: request.postData()!,
    })
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({
      error: 'invalid_dpop_proof',
      error_description: 'the proof was used before',
    })
  })

  it('no script can read the key, and each proof is of one request', async () => {
    const found = await page.evaluate(async () => {
      const database = await new Promise<IDBDatabase>((resolve, reject) => {
        const opening = indexedDB.open('selvedge')
        opening.onsuccess = () => resolve(opening.result)
        opening.onerror = () => reject(opening.error)
      })
      const asked = database.transaction('keys').objectStore('keys').get('session')
      await new Promise((resolve) => asked.addEventListener('success', resolve))
      database.close()
      const { privateKey } = asked.result as { privateKey: CryptoKey }
      const exports = await Promise.all(
        (['jwk', 'pkcs8', 'raw'] as const).map((format) =>
          crypto.subtle.exportKey(format, privateKey).then(
            () => 'exported',
            ({ name }) => name,
          ),
        ),
      )
      return { extractable: privateKey.extractable, exports }
    })
    expect(found.extractable).toBe(false)
    expect(found.exports).not.toContain('exported')
  })

  it('a session that another web server plants is not the one that the owner gets', async () => {
    setting = [`${eve.cookie()}; Path=/`]
    await visitHostile()
    setting = []
    expect(await cookieHeader()).toContain(eve.cookie())
    await page.goto(`${consoleUrl}/devices`)
    await shows('Sign in')
    await signIn()
    await page.getByText('ada@example.com').first().waitFor()
    expect(await cookieHeader()).not.toContain(eve.cookie())
  })

  it('cookies that another web server plants for the paths of the console do not shadow the session', async () => {
    setting = [`${eve.cookie()}; Path=/console`, `selvedge_session=${'x'.repeat(43)}; Path=/console/api`]
    await visitHostile()
    setting = []
    await openDevices()
    await page.getByText('ada@example.com').first().waitFor()
    await context.clearCookies({ path: '/console' })
    await context.clearCookies({ path: '/console/api' })
  })

  it('stays signed in through reloads and in new tabs', async () => {
    await openDevices()
    for (let times = 0; times < 3; times++) {
      await page.reload()
      await shows('Devices')
    }
    const tab = await context.newPage()
    await openDevices(tab)
    await tab.close()
  })

  it('signing out ends every tab, and signing in comes back in every tab', async () => {
    await openDevices()
    const tab = await context.newPage()
    await openDevices(tab)
    await page.locator('summary', { hasText: 'ada@example.com' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await shows('Sign in')
    await shows('Sign in', tab)
    await signIn()
    await shows('Devices', tab)
    await tab.close()
  })

  it('whose storage was cleared gets the page to sign in, and signs in', async () => {
    await openDevices()
    const devtools = await context.newCDPSession(page)
    await page.goto('about:blank')
    await devtools.send('Storage.clearDataForOrigin', { origin: consoleUrl, storageTypes: 'indexeddb' })
    expect(await secretOf()).toMatch(/^[\w-]{43}$/)
    await page.goto(`${consoleUrl}/devices`)
    await shows('Sign in')
    expect(await page.locator('.error').count()).toBe(0)
    await signIn()
  })

  it('follows events, whose connection is signed too', async () => {
    await openDevices()
    const answered = page.waitForResponse((each) => each.url().endsWith(identityPaths.consoleEvents))
    await page.reload()
    const answer = await answered
    expect(answer.status()).toBe(200)
    expect((await answer.request().allHeaders()).dpop).toBeDefined()
  })

  it('downloads the audit log', async () => {
    await page.goto(`${consoleUrl}/audit`)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export JSONL' }).click()
    expect((await download).suggestedFilename()).toBe('selvedge-audit.jsonl')
  })

  it('that stores nothing lets its owner sign in, until the page is loaded again', async () => {
    const password = 'three quiet herons at dusk'
    await eve.api['password.set']({ password })
    const other = await context.browser()!.newContext()
    await other.addInitScript(() => {
      IDBFactory.prototype.open = () => {
        throw new DOMException('The user denied permission to access the database.', 'SecurityError')
      }
    })
    const tab = await other.newPage()
    await tab.goto(consoleUrl)
    await tab.getByLabel('Email').fill('eve@example.com')
    await tab.getByLabel('Password').fill(password)
    await tab.getByRole('button', { name: 'Sign in', exact: true }).click()
    await shows('Devices', tab)
    await tab.reload()
    await shows('Sign in', tab)
    await other.close()
  })

  it('complained of nothing that the console did', () => {
    expect(person.complaints).toEqual([])
  })
})
