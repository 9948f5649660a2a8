/** A service's own page in a real browser: it works, and is a stranger to the API of the runtime that it came from. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../../harness/browser.ts'
import { needs } from '../../harness/installed.ts'
import { type Services, startServices } from '../../harness/services.ts'

const page = `<!doctype html><title>loading</title><h1>a page of a service</h1><script>
(async () => {
  const tries = {}
  const attempt = async (name, work) => { try { tries[name] = String(await work()) } catch (error) { tries[name] = error.name } }
  await attempt('call', async () => (await fetch('/jsonrpc/v1', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"jsonrpc":"2.0","id":1,"method":"getEdgeIdToken"}' })).status)
  await attempt('read', async () => (await fetch('/jsonrpc/v1/openrpc.json')).status)
  await attempt('frame', () => new Promise((resolve) => { const frame = document.createElement('iframe'); frame.src = '/jsonrpc/v1/openrpc.json'; frame.onload = () => { try { resolve(frame.contentDocument.body.textContent.length) } catch (error) { resolve(error.name) } }; document.body.append(frame) }))
  await attempt('cookie', () => { document.cookie = 'a=1'; return document.cookie })
  await attempt('storage', () => localStorage.length)
  tries.origin = self.origin
  document.title = JSON.stringify(tries)
})()
</script>`
const source = `export default { fetch: () => new Response(${JSON.stringify(page)}, { headers: { 'Content-Type': 'text/html' } }) }`

describe('a page of a service in Chromium', needs('chromium-headless-shell'), () => {
  let services: Services
  let browser: Browser
  beforeAll(async () => {
    services = await startServices()
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await services?.stop()
  })

  async function open(env: Record<string, string>) {
    const { basePath } = await services.deploy('page', source, { 'MCM.ACCESS': 'public', ...env })
    const tab = await browser.newPage()
    await tab.goto(services.url() + basePath)
    expect(await tab.textContent('h1')).toBe('a page of a service')
    await tab.waitForFunction(() => document.title.startsWith('{'))
    return JSON.parse(await tab.title()) as Record<string, string>
  }

  it('has an origin of its own, and reaches nothing of the API', async () => {
    expect(await open({})).toEqual({
      call: 'TypeError',
      read: 'TypeError',
      frame: expect.stringMatching(/SecurityError|TypeError/),
      cookie: 'SecurityError',
      storage: 'SecurityError',
      origin: 'null',
    })
  })

  it('has the origin of the runtime if its owner trusts it, and still cannot call the API', async () => {
    expect(await open({ 'MCM.PAGES': 'trusted' })).toMatchObject({
      call: '403',
      read: '200',
      origin: services.url(),
    })
  })
})
