/** A runtime and a command line that reach their identity service only through an HTTP proxy, by a name that no name server has. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, type Server } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import type { RuntimeClient } from '@selvedge/client'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority } from '../harness/authority.ts'
import { runCli } from '../harness/cli.ts'
import { type ConnectProxy, startConnectProxy } from '../harness/connect-proxy.ts'
import { runtimeOf } from '../harness/flow.ts'
import { needs } from '../harness/installed.ts'
import { type Program, startProgram, temporaryFolder } from '../harness/processes.ts'

/** A TLS server on the loopback that passes the connections on to a port. */
async function encrypt(tls: { cert: string; key: string }, port: number): Promise<Server> {
  const server = createTlsServer(tls, (client) => {
    const upstream = connect(port, '127.0.0.1')
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const identityUrl = 'https://id.example'

describe('behind a proxy', needs('openssl'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let proxy: ConnectProxy
  let entrance: Server
  let authority: ReturnType<typeof makeAuthority>
  let runtime: RuntimeClient
  const programs: Program[] = []
  const at = (name: string) => join(folder.path, name)

  beforeAll(async () => {
    folder = await temporaryFolder()
    authority = makeAuthority(folder.path, 'company')
    const port = await freePort()
    const settings = ['--role=cloud', `--issuer=${identityUrl}`, `--listen.port=${port}`]
    programs.push(await startProgram('identity', { SELVEDGE_STATE: at('identity') }, settings))
    entrance = await encrypt(authority.issue('id.example'), port)
    const entrancePort = (entrance.address() as AddressInfo).port
    proxy = await startConnectProxy({
      portOf: (host) => (host === 'id.example:443' ? entrancePort : undefined),
      credentials: 'device:secret',
    })
    writeFileSync(at('auth'), 'device:wrong')
    const args = [
      `--identity.url=${identityUrl}`,
      '--discovery.url=https://discovery.example',
      `--network.proxyAuthFile=${at('auth')}`,
      `--network.caFile=${authority.path}`,
      '--listen.port=0',
      '--otel.endpoint=https://collector.example',
    ]
    const env = { SELVEDGE_STATE: at('runtime'), HTTPS_PROXY: proxy.url }
    programs.push(await startProgram('runtime', env, args))
    runtime = runtimeOf({ runtime: programs[1]! })
  })
  afterAll(async () => {
    for (const each of programs.toReversed()) await each.stop()
    proxy?.close()
    entrance?.close()
    await folder?.remove()
  })

  it('a refused password is a notice, and getMe has the sentence with the next step', async () => {
    await expect(runtime.getEdgeIdToken()).rejects.toThrow('check the file of network.proxyAuthFile')
    const { network, notices } = await runtime.getMe()
    expect(network.proxy).toBe(proxy.url)
    expect(network.identity).toMatchObject({
      reachable: false,
      lastError: expect.stringContaining('refused the user name or the password (HTTP 407)'),
    })
    expect(JSON.stringify(network)).not.toContain('wrong')
    expect(notices.map(({ reason }) => reason)).toContain('network_unusable')
    expect(proxy.opened).toEqual([])
  })

  it('with another password in the file, the device gets its tokens, without a restart', async () => {
    writeFileSync(at('auth'), 'device:secret\n')
    expect((await runtime.getEdgeIdToken()).id_token).toMatch(/^ey/)
    const { network, notices } = await runtime.getMe()
    expect(network.identity).toMatchObject({ reachable: true })
    expect(notices.map(({ reason }) => reason)).not.toContain('network_unusable')
    expect(new Set(proxy.opened)).toEqual(new Set(['id.example:443']))
  })

  it('traces are sent through the proxy', () =>
    expect.poll(() => proxy.requested).toContain('collector.example:443'))

  it('the command line uses the proxy and the authorities of its environment', async () => {
    const signIn = proxy.url.replace('//', '//device:secret@')
    const env = { HTTPS_PROXY: signIn, SELVEDGE_CA_FILE: authority.path, XDG_CONFIG_HOME: at('config') }
    const args = ['status', '--url', programs[1]!.url, '--identity-url', identityUrl]
    const { out } = await runCli(args, env)
    expect(out).toContain(`from here: answers at ${identityUrl}`)
    expect(out).toContain(`proxy      ${proxy.url}`)
  })

  it('a proxy that cannot be used stops the start with a sentence', async () => {
    const started = startProgram('runtime', {
      SELVEDGE_STATE: at('other'),
      HTTPS_PROXY: 'socks5://a:b@c.example',
    })
    const failure = await started.catch((cause: Error & { code: number }) => cause)
    expect(failure).toMatchObject({
      code: 78,
      message: expect.stringContaining('the environment variable HTTPS_PROXY is "socks5://'),
    })
    expect(String(failure)).not.toContain('a:b')
  })
})
