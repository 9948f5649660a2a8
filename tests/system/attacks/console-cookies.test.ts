/** Services that want the session cookies of the console, which a browser sends to every port of a host (RFC 6265 § 8.5). */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cgiImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { podmanNeeds, startPodman } from '../../harness/podman.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

/** Cookie headers with the secret of a session, as a browser or a careless proxy writes them. */
const sent = [
  'selvedge_session=SECRET',
  '__Host-selvedge=SECRET',
  'own=1; selvedge_session=SECRET; __Host-selvedge=SECRET; last=2',
  'own=1;selvedge_session=SECRET;last=2',
  'own=1; selvedge_session=one; selvedge_session=SECRET; last=2',
  'own=1; \t selvedge_session \t=SECRET; last=2',
  'own=1; SELVEDGE_SESSION=SECRET; __HOST-SELVEDGE=SECRET; last=2',
  'own="1; selvedge_session=SECRET; last=2"',
  'own=1, selvedge_session=SECRET; last=2',
  'own=1; =selvedge_session=SECRET; last=2',
]

/** Set-Cookie headers that a browser would send to the console from then on. */
const set = [
  'selvedge_session=SET; Path=/',
  '__Host-selvedge=SET; Path=/; Secure',
  'selvedge_session=SET; Path=/console; HttpOnly',
  ' selvedge_session =SET; Path=/',
  '=selvedge_session=SET; Path=/',
  'SELVEDGE_SESSION=SET; Path=/',
  'selvedge_session=; Max-Age=0; Comment=SET',
]

/** Every Cookie header at once and each alone. */
async function requestsOf(services: Services, path: string): Promise<string[]> {
  const seen: string[] = []
  for (const Cookie of sent) {
    const { status, text } = await services.call(path, { headers: { Cookie } })
    expect(status).toBe(200)
    seen.push(text)
  }
  return [...seen, await twoHeaders(services, path)]
}

/** Two Cookie headers, which no library sends. */
function twoHeaders(services: Services, path: string): Promise<string> {
  const { hostname, port, host } = new URL(services.url())
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname)
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nAuthorization: Bearer ${services.token}\r\nCookie: own=1\r\ncOOKIE: selvedge_session=SECRET\r\n\r\n`,
    )
  })
}

describe('a service', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services?.stop())

  it('that is a function reads its own cookies and none of the console', async () => {
    const source = `export default { fetch: (request) => new Response('cookies: ' + request.headers.get('cookie')) }`
    const { basePath } = await services.deploy('reads', source)
    const texts = await requestsOf(services, basePath)
    expect(texts.join('\n')).not.toContain('SECRET')
    expect(texts[0]).toBe('cookies: null')
    expect(texts[2]).toBe('cookies: own=1; last=2')
    expect(texts[3]).toBe('cookies: own=1;last=2')
    expect(texts.at(-1)).toContain('cookies: own=1')
  })

  it('that is a WASM program reads its own cookies and none of the console', async () => {
    const wasm = readFileSync(join(root, 'apps/cli/templates/wasm/index.wasm'))
    const { basePath } = await services.deploy('wasm', wasm, {}, 'index.wasm')
    const texts = await requestsOf(services, basePath)
    expect(texts.join('\n')).not.toContain('SECRET')
    expect(texts[2]).toContain('HTTP_COOKIE=own=1; last=2')
  })

  it('that is a function sets its own cookies, and neither sets nor clears one of the console', async () => {
    const source = `export default { fetch: () => {
      const headers = new Headers({ 'Clear-Site-Data': '"cookies"' })
      for (const each of ${JSON.stringify(['own=1; Path=/', ...set])}) headers.append('Set-Cookie', each)
      return new Response('', { headers })
    } }`
    const { basePath } = await services.deploy('sets', source)
    const { status, headers } = await services.call(basePath)
    expect(status).toBe(200)
    expect(headers['set-cookie']).toEqual(['own=1; Path=/'])
    expect(headers).not.toHaveProperty('clear-site-data')
  })
})

describe('a service in an OCI container', needs(...podmanNeeds, 'busybox'), () => {
  it('neither reads nor sets a cookie of the console', async () => {
    const podman = await startPodman()
    const services = await startServices({ args: [`--oci.socket=${podman.socket}`] })
    try {
      const { id } = await services.deployImage(cgiImage({ name: 'cgi', script: '/bin/busybox env' }))
      const spec = { name: 'cgi', image: id, env: {} }
      const { basePath } = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
      const texts = await requestsOf(services, `${basePath}/cgi-bin/run`)
      expect(texts.join('\n')).not.toContain('SECRET')
      expect(texts[2]).toContain('HTTP_COOKIE=own=1; last=2')
    } finally {
      await services.stop()
      await podman.stop()
    }
  })
})
