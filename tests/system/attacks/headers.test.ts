/** Headers in which a caller claims another identity, in front of services that read them as CGI variables. */
import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cgiImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const forged = [
  'X_Selvedge_Account',
  'X-Selvedge_Account',
  'X_Selvedge-Account',
  'x.selvedge.account',
  'X_Selvedge_Container',
  'X_Forwarded_Prefix',
  'X-Selvedge-Account',
  'X-Selvedge-Container',
  'Proxy',
]

/** What a service sees of a request with one header more: `NAME=value` lines. */
async function seen(services: Services, path: string, name: string): Promise<string> {
  const { status, text } = await services.call(path, { headers: { [name]: 'forged' } })
  expect(status).toBe(200)
  return text
}

describe('a WASM function', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services?.stop())

  it('sees the caller that the gateway names, by no spelling another one', async () => {
    const wasm = readFileSync(join(root, 'apps/cli/templates/wasm/index.wasm'))
    const { basePath } = await services.deploy('wasm', wasm, {}, 'index.wasm')
    for (const name of forged) {
      const text = await seen(services, basePath, name)
      expect(text).toContain(`HTTP_X_SELVEDGE_ACCOUNT=${services.developer.accountId}`)
      expect(text).not.toContain('forged')
    }
    const named = { Connection: 'close, X-Selvedge-Account, Host, Forwarded, X-Forwarded-Prefix' }
    const { text } = await services.call(basePath, { headers: named })
    expect(text).toContain(`HTTP_X_SELVEDGE_ACCOUNT=${services.developer.accountId}`)
    expect(text).toMatch(/HTTP_FORWARDED=for=127\.0\.0\.1/)
    expect(text).toMatch(/HTTP_X_FORWARDED_PREFIX=\//)
  })

  it('gets the body of a POST that asks for a WebSocket as a body, and no connection of its own', async () => {
    const source = `export default { async fetch(request) {
      return new Response(request.method + ' ' + request.headers.get('upgrade') + ' ' + await request.text()) } }`
    const { basePath } = await services.deploy('echo', source)
    const inner = `GET ${basePath}/inner HTTP/1.1\r\nHost: x\r\n\r\n`
    const ask = (body: string) =>
      new Promise<string>((resolve, reject) => {
        const asked = httpRequest(services.url() + basePath, {
          method: 'POST',
          agent: false,
          headers: {
            Authorization: `Bearer ${services.token}`,
            Connection: 'Upgrade',
            Upgrade: 'websocket',
            'Content-Length': body.length,
          },
        })
        asked.on('response', (response) => {
          let text = `${response.statusCode} `
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => resolve(text))
        })
        asked.on('error', reject)
        asked.end(body)
      })
    expect(await ask(inner)).toBe(`200 POST null ${inner}`)
    expect(await ask('')).toBe('200 POST null ')
  })
})

describe('an OCI container with a CGI server', needs(...podmanNeeds, 'busybox'), () => {
  let podman: Podman
  let services: Services
  beforeAll(async () => {
    podman = await startPodman()
    services = await startServices({ args: [`--oci.socket=${podman.socket}`] })
  })
  afterAll(async () => {
    await services?.stop()
    await podman?.stop()
  })

  it('sees the caller that the gateway names, by no spelling another one', async () => {
    const { id } = await services.deployImage(cgiImage({ name: 'cgi', script: '/bin/busybox env' }))
    const spec = { name: 'cgi', image: id, env: {} }
    const { basePath } = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    for (const name of forged) {
      const text = await seen(services, `${basePath}/cgi-bin/run`, name)
      expect(text).toContain(`HTTP_X_SELVEDGE_ACCOUNT=${services.developer.accountId}`)
      expect(text).not.toContain('forged')
    }
  })
})
