/** Browsers let every page open a WebSocket to any host, without asking first. The handshake of a page is refused. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { formerSocketPath, rpcPath } from '@selvedge/protocol'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../../harness/browser.ts'
import { needs } from '../../harness/installed.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

const call = '{"jsonrpc":"2.0","id":1,"method":"getMe"}'

/** Runs in a page: what a WebSocket to a URL brings. */
const tryCall = (page: Page, url: string, protocols: readonly string[] = []): Promise<string> =>
  page.evaluate(
    async ([to, text, offered]) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(to as string, offered as string[])
        socket.onopen = () => socket.send(text as string)
        socket.onmessage = ({ data }) => resolve(`answered: ${data}`)
        socket.onclose = ({ code }) => resolve(`closed: ${code}`)
      }),
    [url, call, protocols] as const,
  )

/** The same from a frame with an opaque origin: browsers send "Origin: null". */
const tryFromFrame = (page: Page, url: string): Promise<string> =>
  page.evaluate(
    async ([to, text]) =>
      new Promise<string>((resolve) => {
        addEventListener('message', ({ data }) => resolve(data))
        const frame = document.createElement('iframe')
        frame.sandbox = 'allow-scripts'
        frame.srcdoc = `<script>
          const socket = new WebSocket(${JSON.stringify(to)})
          socket.onopen = () => socket.send(${JSON.stringify(text)})
          socket.onmessage = ({ data }) => parent.postMessage('answered: ' + data, '*')
          socket.onclose = ({ code }) => parent.postMessage('closed: ' + code, '*')
        </${'script'}>`
        document.body.append(frame)
      }),
    [url, call] as const,
  )

describe('a page in Chromium that opens a WebSocket', needs('chromium-headless-shell'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let runtime: Program
  let friendly: Program
  let site: Server
  let browser: Browser
  let page: Page
  const siteUrl = () => `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const socketUrl = (program: Program, path: string) => program.url.replace(/^http/, 'ws') + path

  beforeAll(async () => {
    folder = await temporaryFolder()
    site = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<p>elsewhere'))
    site.listen(0, '127.0.0.1')
    await once(site, 'listening')
    const nowhere = {
      SELVEDGE_IDENTITY_URL: 'http://127.0.0.1:9',
      SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9',
    }
    const start = (name: string, ...args: string[]) =>
      startProgram('runtime', { SELVEDGE_STATE: `${folder.path}/${name}`, ...freePorts, ...nowhere }, args)
    runtime = await start('one')
    friendly = await start('two', `--allowedOrigins=${siteUrl()}`)
    // The browser's own prompt must not be what stops the page: other browsers do not ask.
    browser = await launchBrowser(
      '--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessRespectPreflightResults',
      '--host-resolver-rules=MAP evil.example 127.0.0.1',
    )
    page = await browser.newPage()
    await page.goto(siteUrl())
  })
  afterAll(async () => {
    await browser?.close()
    site?.close()
    await Promise.all([runtime?.stop(), friendly?.stop()])
    await folder?.remove()
  })

  const paths = [rpcPath, formerSocketPath]

  it.each(paths)('of another site cannot connect to %s', async (path) => {
    await page.goto(siteUrl())
    expect(await tryCall(page, socketUrl(runtime, path))).toBe('closed: 1006')
    expect(await tryCall(page, socketUrl(runtime, path).replace('127.0.0.1', 'localhost'))).toBe(
      'closed: 1006',
    )
    expect(await tryCall(page, socketUrl(runtime, path), ['jsonrpc'])).toBe('closed: 1006')
  })

  it.each(paths)('without an origin cannot connect to %s', async (path) => {
    await page.goto(siteUrl())
    expect(await tryFromFrame(page, socketUrl(runtime, path))).toBe('closed: 1006')
    expect(await tryFromFrame(page, socketUrl(friendly, path))).toBe('closed: 1006')
  })

  it.each(paths)(
    'under a name of its own that leads here (DNS rebinding) cannot connect to %s',
    async (path) => {
      const { port } = new URL(runtime.url)
      await page.goto(siteUrl().replace('127.0.0.1', 'evil.example'))
      expect(await tryCall(page, `ws://evil.example:${port}${path}`)).toBe('closed: 1006')
      await page.goto(`http://evil.example:${port}${rpcPath}`)
      expect(await tryCall(page, `ws://evil.example:${port}${path}`)).toBe('closed: 1006')
    },
  )

  it.each(paths)('of the origin of the API, as services have them, cannot connect to %s', async (path) => {
    await page.goto(`${runtime.url}${rpcPath}/openrpc.json`)
    expect(await page.evaluate(() => origin)).toBe(runtime.url)
    expect(await tryCall(page, socketUrl(runtime, path))).toBe('closed: 1006')
  })

  it.each(paths)('of an origin that the configuration allows calls %s', async (path) => {
    await page.goto(siteUrl())
    expect(await tryCall(page, socketUrl(friendly, path))).toContain('"nodeId"')
  })
})
