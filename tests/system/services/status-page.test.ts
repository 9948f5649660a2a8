/** The status page of the runtime: a person sees what getMe shows, and no page of a service gains anything from it. */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../../harness/browser.ts'
import { runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { callUrl, type Services, startServices } from '../../harness/services.ts'

/** What a browser sends when a person opens an address. */
const opened = {
  Accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
  'Sec-Fetch-Dest': 'document',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Site': 'none',
  'Sec-Fetch-User': '?1',
}
const nonceIn = (html: string) => /name="page-nonce" content="([\w-]+)"/.exec(html)?.[1]
const getMe = '{"jsonrpc":"2.0","id":1,"method":"getMe","params":[]}'
const getToken = '{"jsonrpc":"2.0","id":1,"method":"getEdgeIdToken","params":[]}'

/** A page of a service that tries to get the nonce, and to call the API. It runs its attempts one after the other. */
const attacker = `<!doctype html><title>loading</title><h1>attacker</h1><script>
(async () => {
  const tries = {}
  const attempt = async (name, work) => {
    try { tries[name] = String(await Promise.race([work(), new Promise((resolve) => setTimeout(() => resolve('no answer'), 3000))])) }
    catch (error) { tries[name] = error.name }
  }
  const look = (text) => /page-nonce/.test(text) ? 'NONCE' : text.slice(0, 40)
  const call = (headers) => fetch('/jsonrpc/v1', { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: '${getToken}' })
  const html = { headers: { Accept: 'text/html' } }
  await attempt('call', async () => (await call({})).status)
  await attempt('call with a guess', async () => (await call({ 'Selvedge-Page-Nonce': 'x' })).status)
  await attempt('fetch', async () => look(await (await fetch('/', html)).text()))
  await attempt('cache', async () => look(await (await fetch('/', { ...html, mode: 'same-origin', cache: 'only-if-cached' })).text()))
  await attempt('forged headers', async () => look(await (await fetch('/', { headers: { Accept: 'text/html', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' } })).text()))
  await attempt('XMLHttpRequest', () => new Promise((resolve) => { const x = new XMLHttpRequest(); x.open('GET', '/'); x.setRequestHeader('Accept', 'text/html'); x.onloadend = () => resolve(look(x.responseText || 'nothing')); x.send() }))
  await attempt('frame', () => new Promise((resolve) => { const f = document.createElement('iframe'); f.src = '/'; f.onload = () => { try { resolve(look(f.contentDocument.documentElement.outerHTML)) } catch (error) { resolve(error.name) } }; document.body.append(f) }))
  await attempt('object', () => new Promise((resolve) => { const o = document.createElement('object'); o.data = '/'; o.onerror = () => resolve('error'); o.onload = () => { try { resolve(look(o.contentDocument.documentElement.outerHTML)) } catch (error) { resolve(error.name) } }; document.body.append(o) }))
  await attempt('window', () => new Promise((resolve, reject) => { const w = window.open('/'); if (!w) return resolve('blocked'); setTimeout(() => { try { resolve(w.closed ? 'closed' : look(w.document.documentElement.outerHTML)) } catch (error) { resolve(error.name) } }, 1500) }))
  await attempt('service worker', async () => {
    const registered = await navigator.serviceWorker.register(location.pathname + '/worker.js', { scope: '/' })
    return 'REGISTERED ' + registered.scope
  })
  document.title = JSON.stringify(tries)
})()
</script>`
const worker = `self.addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))`
const source = `export default { fetch: (request) => new URL(request.url).pathname.endsWith('worker.js')
  ? new Response(${JSON.stringify(worker)}, { headers: { 'Content-Type': 'text/javascript', 'Service-Worker-Allowed': '/' } })
  : new Response(${JSON.stringify(attacker)}, { headers: { 'Content-Type': 'text/html', 'Cross-Origin-Opener-Policy': 'same-origin' } }) }`

let services: Services
beforeAll(async () => {
  services = await startServices({ args: ['--allowedOrigins=https://console.example'] })
})
afterAll(() => services?.stop())

const get = (headers: Record<string, string>, path = '/', method = 'GET') =>
  callUrl(services.url() + path, { method, headers })
const call = (headers: Record<string, string>, body = getMe) =>
  callUrl(`${services.url()}/jsonrpc/v1`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  })

describe('the document', () => {
  it('is sent to a browser that opens it, with a strict policy and to no cache', async () => {
    const { status, headers, text } = await get(opened)
    expect({ status, type: headers['content-type'], cache: headers['cache-control'] }).toEqual({
      status: 200,
      type: 'text/html; charset=utf-8',
      cache: 'no-store',
    })
    const policy = String(headers['content-security-policy'])
    for (const directive of [
      /default-src 'none'/,
      /frame-ancestors 'none'/,
      /sandbox allow-scripts;/,
      /base-uri 'none'/,
    ])
      expect(policy).toMatch(directive)
    expect(policy).not.toMatch(/unsafe|allow-same-origin|https?:|\*/)
    expect(text.replaceAll(/http:\/\/www\.w3\.org\/2000\/svg/g, '')).not.toMatch(
      /(?:src|href)="(?!data:)|https?:\/\/|@import|url\(/,
    )
    expect(nonceIn(text)).toMatch(/^[\w-]{43}$/)
    expect(await get(opened, '/', 'HEAD')).toMatchObject({ status: 200, text: '' })
  })

  it.each([
    ['a program', { Accept: '*/*' }],
    ['a program that wants JSON', { ...opened, Accept: 'application/json' }],
    ['fetch', { ...opened, 'Sec-Fetch-Dest': 'empty', 'Sec-Fetch-Mode': 'cors' }],
    ['a frame', { ...opened, 'Sec-Fetch-Dest': 'iframe' }],
    ['an old browser', { Accept: 'text/html' }],
    ['a service worker', { ...opened, 'Service-Worker': 'script' }],
  ])('is not sent to %s: the answer is JSON, as for any unknown path', async (_, headers) => {
    const { status, text, headers: answered } = await get(headers)
    expect({ status, type: answered['content-type'] }).toEqual({ status: 404, type: 'application/json' })
    expect(JSON.parse(text)).toMatchObject({ error: { reason: 'not_found' } })
  })

  it.each([
    ['another site', { ...opened, 'Sec-Fetch-Site': 'cross-site' }],
    ['a name that resolves here', { ...opened, Host: 'evil.example' }],
  ])('is refused for %s', async (_, headers) => expect((await get(headers)).status).toBe(403))
})

describe('a call with the nonce', () => {
  const nonce = async () => nonceIn((await get(opened)).text)!
  const own = () => new URL(services.url()).origin

  it('is answered for the opaque origin of the page, which may read the answer', async () => {
    const { status, headers } = await call({ Origin: 'null', 'Selvedge-Page-Nonce': await nonce() })
    expect({ status, allowed: headers['access-control-allow-origin'] }).toEqual({
      status: 200,
      allowed: 'null',
    })
  })

  it.each([0, 1, 43, 10_000])('is refused with another one of %i characters', async (length) => {
    const guess = 'A'.repeat(length)
    const { status, headers } = await call({ Origin: 'null', 'Selvedge-Page-Nonce': guess })
    expect({ status, allowed: headers['access-control-allow-origin'] }).toEqual({
      status: 403,
      allowed: undefined,
    })
  })

  it('is refused for a page of this origin without it, and for a foreign page with it', async () => {
    for (const headers of [
      { Origin: own() },
      { Referer: `${own()}/x/y` },
      { 'Sec-Fetch-Site': 'same-origin' },
    ])
      expect(await call(headers as Record<string, string>)).toMatchObject({
        status: 403,
        text: expect.stringContaining('foreign_page'),
      })
    expect(
      (await call({ Origin: 'https://evil.example', 'Selvedge-Page-Nonce': await nonce() })).status,
    ).toBe(403)
    expect(
      (await call({ Origin: 'null', Host: 'evil.example', 'Selvedge-Page-Nonce': await nonce() })).status,
    ).toBe(403)
  })

  it('opens nothing but the API: the guard refuses other paths', async () => {
    const { status } = await get({ Origin: 'null', 'Selvedge-Page-Nonce': await nonce() }, '/mcm/v1/images')
    expect(status).toBe(403)
  })

  it('is not needed by programs and by pages that the configuration names', async () => {
    expect((await call({})).status).toBe(200)
    expect((await call({ Origin: 'https://console.example', 'Sec-Fetch-Site': 'cross-site' })).status).toBe(
      200,
    )
  })

  it('has another nonce after a restart', async () => {
    const before = await nonce()
    await services.restart()
    expect(await nonce()).not.toBe(before)
    expect((await call({ Origin: 'null', 'Selvedge-Page-Nonce': before })).status).toBe(403)
  })
})

describe('in Chromium', needs('chromium-headless-shell'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  async function open(options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
    const page = await browser.newPage({ bypassCSP: false, ...options })
    const problems: string[] = []
    page.on('console', (message) => void problems.push(message.text()))
    page.on('pageerror', ({ message }) => void problems.push(message))
    await page.goto(services.url())
    await page.waitForFunction(() => document.querySelector('#state')?.textContent !== 'Loading')
    expect(problems).toEqual([])
    return page
  }

  it.each(['127.0.0.1', 'localhost'])('shows what getMe shows, opened as %s', async (host) => {
    const me = await runtimeOf({ runtime: { url: services.url() } }).getMe()
    const page = await browser.newPage()
    await page.goto(services.url().replace('127.0.0.1', host))
    await page.waitForFunction(() => document.querySelector('#version')?.textContent !== '…')
    expect(await page.textContent('h1')).toBe(me.name)
    for (const [id, text] of Object.entries({ node: me.nodeId, account: me.accountId, version: me.version }))
      expect(await page.textContent(`#${id}`), id).toContain(text)
    expect(await page.evaluate(() => self.origin)).toBe('null')
    await page.close()
  })

  it('is readable in light and dark, on a phone and on a desk, and axe finds nothing', async () => {
    const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [400, 1200]) {
        const page = await open({ colorScheme, viewport: { width, height: 800 } })
        const wide = await page.evaluate(() => document.documentElement.scrollWidth)
        expect(wide).toBeLessThanOrEqual(width)
        if (process.env.SELVEDGE_PICTURES) {
          mkdirSync(process.env.SELVEDGE_PICTURES, { recursive: true })
          const path = join(process.env.SELVEDGE_PICTURES, `status-${colorScheme}-${width}.png`)
          await page.screenshot({ path, fullPage: true })
        }
        // Through the debugger: the policy of the page lets no other script run.
        await page.evaluate(axe)
        const { violations } = await page.evaluate(() =>
          (globalThis as never as { axe: { run(): Promise<{ violations: { id: string }[] }> } }).axe.run(),
        )
        expect(violations.map(({ id }) => id)).toEqual([])
        await page.close()
      }
  })

  it('gives a page of a trusted service nothing: neither its nonce nor a call', async () => {
    const { basePath } = await services.deploy('attacker', source, {
      'MCM.ACCESS': 'public',
      'MCM.PAGES': 'trusted',
    })
    // The person has the status page open, and it is in the history of this tab.
    const status = await open()
    const page = await browser.newPage()
    await page.goto(services.url())
    await page.goto(services.url() + basePath)
    await page.waitForFunction(() => document.title.startsWith('{'))
    expect(JSON.parse(await page.title())).toEqual({
      call: '403',
      'call with a guess': '403',
      fetch: expect.stringContaining('"error"'),
      cache: 'TypeError',
      'forged headers': expect.stringContaining('"error"'),
      XMLHttpRequest: expect.stringContaining('"error"'),
      frame: expect.not.stringContaining('NONCE'),
      object: expect.stringMatching(/error|SecurityError|TypeError|no answer/),
      window: expect.stringMatching(/blocked|closed|SecurityError/),
      'service worker': 'SecurityError',
    })
    await status.close()
    await page.close()
  })
})
