/**
 * Response headers that act on a whole origin, in a browser, over TLS: what a hostile service sends changes nothing for the other
 * services of the device. Each effect is first shown at an origin that may send the headers.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchWholeBrowser } from '../../harness/browser.ts'
import { makeCertificate } from '../../harness/certificate.ts'
import { needs } from '../../harness/installed.ts'
import { type Services, startServices } from '../../harness/services.ts'

/** To an own server on each port of the loopback interface. Neither HSTS nor reports are for hosts that are addresses. */
const hosts = { device: 'device.example', control: 'control.example', stranger: 'stranger.example' }

const portOf = (server: Server) => (server.address() as AddressInfo).port

/** Reports each request of the origin to a stranger, and allows its host only over TLS from then on. */
const headersFor = (endpoint: string): Record<string, string> => ({
  NEL: JSON.stringify({ report_to: 'stranger', max_age: 3600, success_fraction: 1, failure_fraction: 1 }),
  'Report-To': JSON.stringify({ group: 'stranger', max_age: 3600, endpoints: [{ url: endpoint }] }),
  'Strict-Transport-Security': 'max-age=3600',
})
/** Asked for apart: with the cookies the browser forgets where to report to. */
const clearing = { path: '?clear', headers: { 'Clear-Site-Data': '"cookies"' } }
const hostile = (endpoint: string) =>
  `export default { fetch: ({ url }) => new Response('hostile', {
    headers: url.endsWith('${clearing.path}') ? ${JSON.stringify(clearing.headers)} : ${JSON.stringify(headersFor(endpoint))},
  }) }`

describe('a hostile public service, in Chromium over TLS', needs('chromium', 'openssl'), () => {
  let services: Services
  let browser: Browser
  let page: Page
  const servers: Server[] = []
  /** URLs of the requests that the browser reported to the stranger. */
  const reported: string[] = []
  /** URLs of the device, of a control origin, and of the plain port that both hosts share. */
  let device: string
  let control: string
  let plainPort: number

  async function serve(server: Server): Promise<number> {
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return portOf(server)
  }

  const collect: RequestListener = (request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    request.on('end', () => {
      if (text !== '') reported.push(...(JSON.parse(text) as { url: string }[]).map(({ url }) => url))
      response.setHeader('Access-Control-Allow-Origin', '*').setHeader('Access-Control-Allow-Headers', '*')
      response.end()
    })
  }

  beforeAll(async () => {
    services = await startServices()
    const { key, cert } = makeCertificate(services.stack.state, 'device')
    const tls = { key: readFileSync(key), cert: readFileSync(cert) }
    const endpoint = `https://${hosts.stranger}:${await serve(createServer(tls, collect))}/reports`
    control = `https://${hosts.control}:${await serve(
      createServer(tls, ({ url }, response) => {
        const headers = url?.endsWith(clearing.path) ? clearing.headers : headersFor(endpoint)
        response.writeHead(200, headers).end('control')
      }),
    )}`
    plainPort = await serve(createPlainServer((_, response) => response.end('plain')))
    await services.deploy('hostile', hostile(endpoint), { 'MCM.ACCESS': 'public' })
    await services.deploy('other', 'export default { fetch: () => new Response("other") }', {
      'MCM.ACCESS': 'public',
    })
    const files = [`--listen.tlsCert=${cert}`, `--listen.tlsKey=${key}`]
    await services.restart('SIGTERM', {}, [...files, `--listen.hosts=${hosts.device}`])
    device = `https://${hosts.device}:${new URL(services.url()).port}/${services.developer.clientId}`
    const spki = new X509Certificate(tls.cert).publicKey.export({ type: 'spki', format: 'der' })
    browser = await launchWholeBrowser(
      '--host-resolver-rules=MAP *.example 127.0.0.1',
      `--ignore-certificate-errors-spki-list=${createHash('sha256').update(spki).digest('base64')}`,
      '--short-reporting-delay',
    )
    page = await browser.newPage()
  })
  afterAll(async () => {
    await browser?.close()
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    await services?.stop()
  })

  const textOf = async (url: string) => {
    await page.goto(url)
    return page.textContent('body')
  }

  it('gets no reports about the requests to other services', async () => {
    expect(await textOf(`${device}/hostile/`)).toBe('hostile')
    expect(await textOf(`${device}/other/?secret=1`)).toBe('other')
    await textOf(`${control}/first`)
    await expect.poll(() => reported).toContain(`${control}/first`)
    // Reports about the device were due before these: a second round has come since.
    await textOf(`${control}/second`)
    await expect.poll(() => reported).toContain(`${control}/second`)
    expect(reported.filter((url) => url.includes(hosts.device))).toEqual([])
  })

  it('does not remove the cookies of the origin', async () => {
    const cookiesAfter = async (url: string) => {
      await page.context().addCookies([{ name: 'kept', value: 'yes', url }])
      await textOf(url)
      return (await page.context().cookies(url)).map(({ name }) => name)
    }
    expect(await cookiesAfter(`${device}/hostile/${clearing.path}`)).toEqual(['kept'])
    expect(await cookiesAfter(`${control}/${clearing.path}`)).toEqual([])
  })

  it('does not close the plain ports of the host', async () => {
    await textOf(`${device}/hostile/`)
    expect(await textOf(`http://${hosts.device}:${plainPort}/`)).toBe('plain')
    await textOf(`${control}/`)
    await expect(textOf(`http://${hosts.control}:${plainPort}/`)).rejects.toThrow(/ERR_SSL_PROTOCOL_ERROR/)
  })
})
