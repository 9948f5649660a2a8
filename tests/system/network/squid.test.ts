/**
 * The flow of the README, and an image of Debian's registry, between two machines, of which one has no way out but a real squid: with a password, and with TLS that the proxy
 * ends with a certificate of the company.
 */
import { type ChildProcess, execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority } from '../../harness/authority.ts'
import { type CloudHost, startCloudHost } from '../../harness/cloud-host.ts'
import { registryNeeds, startDockerRegistry } from '../../harness/docker-registry.ts'
import type { Developer } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { type Program, root, startProgram, temporaryFolder } from '../../harness/processes.ts'
import { passwordSettings, startSquid, writePasswords } from '../../harness/squid.ts'

const addresses = { proxy: '10.77.1.1', cloud: '10.77.2.2' }
const issuer = `https://${addresses.cloud}`
/** Of the proxy: one passes TLS on, the other one ends it. */
const ports = { passing: 3128, intercepting: 3129 }

/** Settings of squid. @param at path of a file of it @param authority path of the authority of the services */
const settings = (at: (name: string) => string, authority: string) => `
http_port ${addresses.proxy}:${ports.passing}
http_port ${addresses.proxy}:${ports.intercepting} ssl-bump cert=${at('company.pem')} key=${at('company.key')} generate-host-certificates=on
sslcrtd_program /usr/lib/squid/security_file_certgen -s ${at('certificates')} -M 4MB
sslcrtd_children 1
tls_outgoing_options cafile=${authority}
acl intercepting localport ${ports.intercepting}
acl start at_step SslBump1
ssl_bump peek start
ssl_bump bump intercepting
ssl_bump splice all
${passwordSettings(at)}
acl tls port 443 8443 5000
http_access deny !tls
http_access allow known
http_access deny all
`

describe('behind squid', needs('networks', 'squid', 'openssl', 'curl', ...registryNeeds), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let networks: Networks
  let cloud: CloudHost
  let developer: Developer
  const programs: Program[] = []
  const children: ChildProcess[] = []
  const at = (name: string) => join(folder.path, name)
  const ofSquid = (name: string) => at(`squid/${name}`)

  beforeAll(async () => {
    folder = await temporaryFolder()
    networks = makeNetworks({
      device: { inside: '10.77.1.2' },
      proxy: { inside: addresses.proxy, outside: '10.77.2.1' },
      cloud: { outside: addresses.cloud },
    })
    cloud = await startCloudHost(networks.spaceOf('cloud'), addresses.cloud, folder.path)
    developer = cloud.developer
    writeFileSync(at('developer'), developer.idToken, { mode: 0o600 })
    await makeSquid()
    const registry = startDockerRegistry(
      networks.spaceOf('cloud'),
      `${addresses.cloud}:5000`,
      at('registry'),
      {
        ...{ certificate: at('server.crt'), key: at('server.key'), authority: cloud.caFile },
      },
    )
    children.push(await registry)
  })
  afterAll(async () => {
    for (const each of programs.toReversed()) await each.stop()
    for (const each of children) each.kill()
    await cloud?.stop()
    networks?.remove()
    await folder?.remove()
  })

  async function makeSquid() {
    await writePasswords(at('squid'), 'device', 's3cret')
    makeAuthority(at('squid'), 'company')
    cpSync(at('public.pem'), ofSquid('public.pem'))
    const certificates = ['-c', '-s', ofSquid('certificates'), '-M', '4MB']
    await promisify(execFile)('/usr/lib/squid/security_file_certgen', certificates)
    const all = settings(ofSquid, ofSquid('public.pem'))
    children.push(await startSquid(networks.spaceOf('proxy'), at('squid'), all))
  }

  /** A runtime behind the proxy, and the environment of its command line. */
  async function startDevice(name: string, port: number, authorities: readonly string[]) {
    const caFile = at(`${name}.pem`)
    writeFileSync(caFile, authorities.map((path) => readFileSync(path, 'utf8')).join(''))
    writeFileSync(at(`${name}.auth`), 'device:s3cret')
    const proxy = `http://${addresses.proxy}:${port}`
    const args = [
      ...[`--identity.url=${issuer}`, `--discovery.url=${issuer}:8443`, '--listen.port=0'],
      ...[`--network.proxy=${proxy}`, `--network.proxyAuthFile=${at(`${name}.auth`)}`],
      `--network.caFile=${caFile}`,
    ]
    const program = await startProgram('runtime', { SELVEDGE_STATE: at(name) }, args, {
      space: networks.spaceOf('device'),
    })
    programs.push(program)
    const fetch = createNodeFetch({ socketPath: join(at(name), 'runtime.sock') })
    return {
      url: program.url,
      caFile,
      runtime: createRuntimeClient({ url: 'http://localhost', fetch }),
      env: {
        ...{ PATH: process.env.PATH, HOME: at(name), XDG_CONFIG_HOME: at(`${name}-config`) },
        ...{ SELVEDGE_RUNTIME_URL: program.url, SELVEDGE_IDENTITY_URL: issuer },
        ...{ HTTPS_PROXY: proxy, SELVEDGE_PROXY_AUTH_FILE: at(`${name}.auth`), SELVEDGE_CA_FILE: caFile },
      },
    }
  }

  async function runOnDevice(env: NodeJS.ProcessEnv, command: string, ...args: string[]): Promise<string> {
    const all = ['netns', 'exec', networks.spaceOf('device'), command, ...args]
    return (await promisify(execFile)('ip', all, { env, cwd: root })).stdout
  }

  it.each([
    ['a proxy that passes TLS on', 'passing', ['public.pem']],
    ['a proxy that ends TLS', 'intercepting', ['squid/company.pem']],
  ] as const)('%s: all steps of the README work', async (_, kind, authorities) => {
    const { env, url, caFile, runtime } = await startDevice(kind, ports[kind], authorities.map(at))
    const cli = (...args: string[]) =>
      runOnDevice(env, process.execPath, join(root, 'apps/cli/bin/selvedge.js'), ...args)
    const signed = ['--developer-token-file', at('developer'), '--client-id', developer.clientId]
    await cli('account', 'associate', ...signed)
    const { nodeId, accountId } = await runtime.getMe()
    expect(accountId).toBe(developer.accountId)

    const scope = 'openid edge:mcm edge:clusters'
    const { access_token: token } = JSON.parse(
      await cli('token', 'access', ...signed, '--scope', scope, '--json'),
    )
    const at1 = { longitude: '-123.1150', latitude: '49.2500', speed: '10.5', bearing: '350' }
    await runtime.updateGps({ edgeAccessToken: token, ...at1 })
    const curl = (...args: string[]) =>
      runOnDevice(env, 'curl', '-sS', '-H', `Authorization: Bearer ${token}`, ...args)
    const behind = ['--proxy', `http://device:s3cret@${addresses.proxy}:${ports[kind]}`, '--cacert', caFile]
    const fix = async () =>
      JSON.parse(await curl(...behind, `${issuer}:8443/v1/nodes/${nodeId}/fix`)) as { latitude?: number }
    await expect.poll(fix).toMatchObject({ latitude: 49.25 })

    await cli('image', 'pack', join(root, 'examples/counter'), '-o', at(`${kind}.tar`))
    await cli('image', 'deploy', at(`${kind}.tar`), ...signed)
    await cli('container', 'deploy', '--name', 'counter', '--image', 'counter', ...signed)
    const visits = await curl('--noproxy', '*', `${url}/${developer.clientId}/counter/visits`)
    expect(JSON.parse(visits)).toMatchObject({ count: 1 })

    await cli('image', 'deploy', `${addresses.cloud}:5000/team/app:1`, ...signed)
    const images = await runtime.getImages({ edgeAccessToken: token })
    expect(images.map(({ name }) => name)).toContain('app')

    const log = readFileSync(ofSquid('access.log'), 'utf8')
    for (const port of [443, 8443, 5000]) expect(log).toContain(`CONNECT ${addresses.cloud}:${port}`)
  })

  it('a proxy that ends TLS is named, with its authority, where the device does not know that', async () => {
    const { runtime, env } = await startDevice('stranger', ports.intercepting, [at('public.pem')])
    const failure = await runtime.getEdgeIdToken().catch((cause: Error) => cause.message)
    expect(failure).toMatch(/company/)
    const notices = async () => (await runtime.getMe()).notices.map(({ reason }) => reason)
    await expect.poll(notices).toContain('network_unusable')
    const cli = runOnDevice(env, process.execPath, join(root, 'apps/cli/bin/selvedge.js'), 'doctor')
    expect(await cli.catch(({ stdout, stderr }) => stdout + stderr)).toMatch(/company/)
  })
})
