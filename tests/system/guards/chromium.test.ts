/** A real browser on a hostile page: whatever the page tries, the local API refuses it. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../../harness/browser.ts'
import { accessToken, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { root, type Stack, startStack } from '../../harness/processes.ts'

describe('a web page in Chromium', needs('chromium-headless-shell'), () => {
  let stack: Stack
  let browser: Browser
  let site: Server
  let page: Awaited<ReturnType<Browser['newPage']>>
  let token: string
  const account = async () => (await runtimeOf(stack).getMe()).accountId

  beforeAll(async () => {
    stack = await startStack()
    token = await accessToken(stack, await createDeveloper(stack.state))
    site = createServer((_, response) =>
      response.setHeader('Content-Type', 'text/html').end('<title>elsewhere</title>'),
    )
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    // The browser's own prompt must not be what stops the page: other browsers have none.
    browser = await launchBrowser(
      '--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessRespectPreflightResults',
    )
    page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
  })
  afterAll(async () => {
    await browser?.close()
    site?.close()
    await stack?.stop()
  })

  /** Runs in the page: the result of a request, as far as the page can see it. */
  const tryFetch = (init: object) =>
    page.evaluate(
      async ([url, request]) => {
        try {
          const response = await fetch(url as string, request as RequestInit)
          return { type: response.type, status: response.status, body: await response.text() }
        } catch (cause) {
          return { error: (cause as Error).name }
        }
      },
      [`${stack.runtime.url}/jsonrpc/v1`, init] as const,
    )
  const associate = () =>
    JSON.stringify({ jsonrpc: '2.0', method: 'associateAccount', params: [token], id: 1 })

  it('can’t call with JSON: the browser asks first and gets no permission', async () => {
    const headers = { 'Content-Type': 'application/json' }
    expect(await tryFetch({ method: 'POST', headers, body: associate() })).toEqual({ error: 'TypeError' })
    expect(await account()).toBe('')
  })

  it('can’t call with a request that needs no permission', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/plain;application/json']) {
      const init = { method: 'POST', mode: 'no-cors', headers: { 'Content-Type': type }, body: associate() }
      expect(await tryFetch(init)).toEqual({ type: 'opaque', status: 0, body: '' })
    }
    expect(await tryFetch({ mode: 'no-cors' })).toEqual({ type: 'opaque', status: 0, body: '' })
    expect(await account()).toBe('')
  })

  it('can’t read what a plain GET would give', async () => {
    expect(await tryFetch({})).toEqual({ error: 'TypeError' })
  })

  it('can’t post a form', async () => {
    const other = await browser.newPage()
    await other.goto(page.url())
    const answered = other.waitForResponse((response) => response.url().includes('/jsonrpc/v1'))
    await other.evaluate(
      ([url, body]) => {
        const form = document.createElement('form')
        form.method = 'post'
        form.enctype = 'text/plain'
        form.action = url as string
        const field = document.createElement('input')
        field.name = (body as string).slice(0, -1)
        field.value = '"}'
        form.append(field)
        document.body.append(form)
        form.submit()
      },
      [`${stack.runtime.url}/jsonrpc/v1`, associate()],
    )
    expect((await answered).status()).toBe(403)
    expect(await account()).toBe('')
    await other.close()
  })

  it('can’t get in under a name of its own that leads here (DNS rebinding)', async () => {
    const port = new URL(stack.runtime.url).port
    const rebound = await launchBrowser('--host-resolver-rules=MAP evil.example 127.0.0.1')
    try {
      const evil = await rebound.newPage()
      const response = await evil.goto(`http://evil.example:${port}/jsonrpc/v1/openrpc.json`)
      expect(response?.status()).toBe(403)
      const result = await evil.evaluate(async (body) => {
        const answer = await fetch('/jsonrpc/v1', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: body as string,
        })
        return { status: answer.status, text: await answer.text() }
      }, associate())
      expect(result).toMatchObject({ status: 403, text: expect.stringContaining('foreign_host') })
      expect(await account()).toBe('')
    } finally {
      await rebound.close()
    }
  })

  it('gets no CORS headers, whatever it asks', async () => {
    const { origin } = new URL(page.url())
    const response = await fetch(`${stack.runtime.url}/jsonrpc/v1`, {
      method: 'OPTIONS',
      headers: { Origin: origin },
    })
    expect(response.status).toBe(403)
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it('of an origin that the configuration allows may call, with the client library', async () => {
    const { origin } = new URL(page.url())
    const friendly = await startStack({ runtime: [`--allowedOrigins=${origin}`] })
    try {
      // The client library itself, as a page would bundle it.
      const bundle = await rolldown({
        input: join(root, 'packages/client/src/index.ts'),
        platform: 'browser',
        resolve: { conditionNames: ['source', 'import', 'browser', 'default'] },
      })
      const { output } = await bundle.generate({ format: 'iife', name: 'selvedge', codeSplitting: false })
      await page.addScriptTag({ content: output[0].code })
      const result = await page.evaluate(async (url) => {
        const { createRuntimeClient } = (
          globalThis as never as { selvedge: typeof import('@selvedge/client') }
        ).selvedge
        const client = createRuntimeClient({ url })
        const refused = await client
          .getGps({ edgeAccessToken: 'x' })
          .catch((cause: { reason: string }) => cause.reason)
        return { me: await client.getMe(), refused }
      }, friendly.runtime.url)
      expect(result).toMatchObject({ me: { accountId: '', version: '0.1.0' }, refused: 'token_malformed' })
    } finally {
      await friendly.stop()
    }
  })
})
