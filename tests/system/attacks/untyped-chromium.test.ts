/**
 * Programs on the device may leave the content type out. No page can use that: whatever a page sends without a content type has
 * headers that browsers add.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { methods, rpcPath } from '@selvedge/protocol'
import { createDispatcher } from '@selvedge/protocol/jsonrpc'
import { attach, createHttpServer, createRpcListener } from '@selvedge/service-kit/http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../../harness/browser.ts'
import { needs } from '../../harness/installed.ts'

const call = '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'

/** Each way in which a page sends a body of its own choice, as a script with the URL `to`, the text `call` and `done()`. */
const ways: Readonly<Record<string, string>> = {
  'fetch of a Blob without a type': `await fetch(to, { method: 'POST', mode: 'no-cors', body: new Blob([call]) })`,
  'fetch of bytes': `await fetch(to, { method: 'POST', mode: 'no-cors', body: new TextEncoder().encode(call) })`,
  'fetch without a referrer': `await fetch(to, { method: 'POST', mode: 'no-cors', referrer: '', referrerPolicy: 'no-referrer', credentials: 'omit', body: new Blob([call]) })`,
  'fetch with keepalive': `await fetch(to, { method: 'POST', mode: 'no-cors', keepalive: true, body: new Blob([call]) })`,
  'fetch with CORS': `await fetch(to, { method: 'POST', body: new Blob([call]) })`,
  'XMLHttpRequest with a Blob': `await new Promise((end) => { const x = new XMLHttpRequest(); x.open('POST', to); x.onloadend = end; x.send(new Blob([call])) })`,
  'XMLHttpRequest with an emptied type': `await new Promise((end) => { const x = new XMLHttpRequest(); x.open('POST', to); x.setRequestHeader('Content-Type', ''); x.onloadend = end; x.send(new Blob([call])) })`,
  'sendBeacon of a Blob without a type': `navigator.sendBeacon(to, new Blob([call]))`,
  'sendBeacon of bytes': `navigator.sendBeacon(to, new TextEncoder().encode(call))`,
  'a form as text': `const f = Object.assign(document.createElement('form'), { method: 'POST', action: to, enctype: 'text/plain', target: 'frame' }); const i = document.createElement('input'); i.name = call; f.append(i); document.body.append(f); f.submit(); await new Promise((end) => document.querySelector('iframe').onload = end)`,
  'a form without a type': `const f = Object.assign(document.createElement('form'), { method: 'POST', action: to, enctype: '', target: 'frame' }); const i = document.createElement('input'); i.name = call; f.append(i); document.body.append(f); f.submit(); await new Promise((end) => document.querySelector('iframe').onload = end)`,
  'a worker': `await new Promise((end) => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('" + to + "', { method: 'POST', mode: 'no-cors', body: new Blob(['" + call + "']) }).then(() => postMessage(0), () => postMessage(0))"]))); w.onmessage = end })`,
  'a frame without an origin': `await new Promise((end) => { onmessage = end; const f = document.createElement('iframe'); f.sandbox = 'allow-scripts'; f.srcdoc = "<script>fetch('" + to + "', { method: 'POST', mode: 'no-cors', body: new Blob(['" + call + "']) }).then(() => parent.postMessage(0, '*'), () => parent.postMessage(0, '*'))</" + "script>"; document.body.append(f) })`,
}

describe('a page that sends a body without a content type', needs('chromium-headless-shell'), () => {
  let browser: Browser
  let local: Server
  let foreign: Server
  let to: string
  let served = 0
  /** Header names of the requests that have come, preflights included. */
  let sent: string[][] = []
  const portOf = (server: Server) => (server.address() as AddressInfo).port

  beforeAll(async () => {
    const dispatcher = createDispatcher({
      methods: { 'rpc.discover': methods['rpc.discover'] },
      handlers: { 'rpc.discover': () => void served++ },
      checks: { anyone: () => undefined },
      onInternalError: () => 'error-1',
      mirror: false,
      limits: { depth: 32, batch: 100 },
    })
    local = createHttpServer({})
    local.prependListener('request', ({ rawHeaders }) =>
      sent.push(rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())),
    )
    local.listen(0, '127.0.0.1')
    await once(local, 'listening')
    const guard = { port: portOf(local), allowedOrigins: [] }
    attach(local, createRpcListener({ dispatcher, guard, maxBody: 65_536, readsUntyped: true }))
    foreign = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html')
      response.end('<!doctype html><iframe name="frame"></iframe>')
    })
    foreign.listen(0, '127.0.0.1')
    await once(foreign, 'listening')
    to = `http://127.0.0.1:${portOf(local)}${rpcPath}`
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser.close()
    for (const server of [local, foreign]) {
      server.closeAllConnections()
      server.close()
    }
  })

  it('a program gets its answer', async () => {
    served = 0
    const { port } = new URL(to)
    const { request } = await import('node:http')
    const asked = request({ host: '127.0.0.1', port, path: rpcPath, method: 'POST' })
    asked.end(call)
    const [answer] = (await once(asked, 'response')) as [{ statusCode: number; resume(): void }]
    answer.resume()
    expect({ status: answer.statusCode, served }).toEqual({ status: 200, served: 1 })
  })

  it.each(Object.entries(ways))('by %s is refused', async (_, script) => {
    served = 0
    sent = []
    const page = await browser.newPage()
    await page.goto(`http://localhost:${portOf(foreign)}/`)
    await page
      .evaluate(
        `(async () => { const to = ${JSON.stringify(to)}, call = ${JSON.stringify(call)}; ${script} })()`,
      )
      .catch(() => undefined)
    await expect.poll(() => sent.length).toBeGreaterThan(0)
    expect(served).toBe(0)
    for (const names of sent)
      expect(
        names.some((name) => /^(?:origin|sec-)/.test(name)),
        names.join(),
      ).toBe(true)
    await page.close()
  })
})
