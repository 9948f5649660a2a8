/** Devices in a network with one way out, a real tinyproxy with a password that opens tunnels to port 443 only. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntimeClient, type RuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority } from '../../harness/authority.ts'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'

const addresses = { proxy: '10.77.1.1', cloud: '10.77.2.2' }
const identityPort = 8084

/** Ends TLS on two ports, and passes the connections on to the identity service of the same namespace. */
const entrance = `
const [cert, key] = process.argv.slice(1).map((path) => require('node:fs').readFileSync(path))
for (const port of [443, 8443])
  require('node:tls').createServer({ cert, key }, (client) => {
    const upstream = require('node:net').connect(${identityPort}, '127.0.0.1')
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
  }).listen(port, '${addresses.cloud}', () => console.log(port))
`

/** Settings of tinyproxy. @param log path of its log */
const settings = (log: string) => `
Port 3128
Listen ${addresses.proxy}
Timeout 600
MaxClients 20
Allow 10.77.1.0/24
ConnectPort 443
BasicAuth device s3cret
LogFile "${log}"
LogLevel Connect
`

describe('behind tinyproxy', needs('networks', 'tinyproxy', 'openssl'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let networks: Networks
  let authorities: string
  const programs: Program[] = []
  const children: ChildProcess[] = []
  const at = (name: string) => join(folder.path, name)

  const runIn = (host: string, command: string, ...args: string[]): ChildProcess => {
    const child = spawn('ip', ['netns', 'exec', networks.spaceOf(host), command, ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    children.push(child)
    return child
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    networks = makeNetworks({
      device: { inside: '10.77.1.2' },
      proxy: { inside: addresses.proxy, outside: '10.77.2.1' },
      cloud: { outside: addresses.cloud },
    })
    const authority = makeAuthority(folder.path, 'company')
    authorities = authority.path
    const { cert, key } = authority.issue(addresses.cloud)
    writeFileSync(at('server.crt'), cert)
    writeFileSync(at('server.key'), key)
    writeFileSync(at('tinyproxy.conf'), settings(at('tinyproxy.log')))
    runIn('proxy', 'tinyproxy', '-d', '-c', at('tinyproxy.conf'))
    const tls = runIn('cloud', process.execPath, '-e', entrance, at('server.crt'), at('server.key'))
    const args = ['--role=cloud', `--issuer=https://${addresses.cloud}`, `--listen.port=${identityPort}`]
    const [identity] = await Promise.all([
      startProgram('identity', { SELVEDGE_STATE: at('identity') }, args, {
        space: networks.spaceOf('cloud'),
      }),
      once(tls.stdout!, 'data'),
    ])
    programs.push(identity)
  })
  afterAll(async () => {
    for (const each of programs.toReversed()) await each.stop()
    for (const each of children) each.kill()
    networks?.remove()
    await folder?.remove()
  })

  /** @param password for the proxy @param identity URL of the identity service */
  async function startDevice(name: string, password: string, identity: string): Promise<RuntimeClient> {
    writeFileSync(at(`${name}.auth`), password)
    const args = [
      `--identity.url=${identity}`,
      `--network.proxy=http://${addresses.proxy}:3128`,
      `--network.proxyAuthFile=${at(`${name}.auth`)}`,
      `--network.caFile=${authorities}`,
      '--listen.port=0',
    ]
    const env = { SELVEDGE_STATE: at(name) }
    programs.push(await startProgram('runtime', env, args, { space: networks.spaceOf('device') }))
    const fetch = createNodeFetch({ socketPath: join(at(name), 'runtime.sock') })
    return createRuntimeClient({ url: 'http://localhost', fetch })
  }

  it('a device gets its tokens, once the password is right', async () => {
    const runtime = await startDevice('one', 'device:wrong', `https://${addresses.cloud}`)
    await expect
      .poll(() => runtime.getEdgeIdToken().catch((cause: Error) => cause.message))
      .toContain('refused the user name or the password')
    writeFileSync(at('one.auth'), 'device:s3cret')
    expect((await runtime.getEdgeIdToken()).id_token).toMatch(/^ey/)
    const { network, notices } = await runtime.getMe()
    expect(network).toMatchObject({
      proxy: `http://${addresses.proxy}:3128`,
      identity: { reachable: true },
    })
    expect(notices.map(({ reason }) => reason)).not.toContain('network_unusable')
    expect(readFileSync(at('tinyproxy.log'), 'utf8')).toContain(`CONNECT ${addresses.cloud}:443`)
  })

  it('a device that needs another port than 443 gets a sentence with the next step', async () => {
    const runtime = await startDevice('two', 'device:s3cret', `https://${addresses.cloud}:8443`)
    const failure = await runtime.getEdgeIdToken().catch((cause: Error) => cause.message)
    expect(failure).toContain(`does not connect to ${addresses.cloud}:8443 (HTTP 403)`)
    expect(failure).toContain('Many proxies allow only port 443.')
  })
})
