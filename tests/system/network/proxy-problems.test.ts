/**
 * Devices behind a proxy that does not let them through: a real squid that wants a password, one that closes connections that wait, and
 * a sign-in page, also without a proxy. Each is named with the next step, in the errors, `getMe`, `selvedge status` and `selvedge doctor`.
 */
import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority } from '../../harness/authority.ts'
import { spawnIn } from '../../harness/cloud-host.ts'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { type Program, root, startProgram, temporaryFolder } from '../../harness/processes.ts'
import { passwordSettings, startSquid, writePasswords } from '../../harness/squid.ts'

const addresses = { proxy: '10.77.1.1', cloud: '10.77.2.2' }
const identityUrl = `https://${addresses.cloud}`
const identityPort = 8084
const ports = { password: 3128, hasty: 3130, page: 3131, redirect: 3132 }
/** Of the same answers over TLS, with a certificate that the device trusts. */
const overTls = 1000

/** Ends TLS before the identity service, which has no answer while there is a file `silent`. */
const entrance = `
const fs = require('node:fs')
const [cert, key, silent] = process.argv.slice(1)
require('node:tls').createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, (client) => {
  client.on('error', () => client.destroy())
  if (fs.existsSync(silent)) return void client.resume()
  const upstream = require('node:net').connect(${identityPort}, '127.0.0.1')
  upstream.on('error', () => client.destroy())
  client.pipe(upstream).pipe(client)
}).listen(443, '${addresses.cloud}', () => console.log('listens'))
`

/** A network that wants a person to sign in: whatever is requested, the answer is its page, or leads there. */
const portal = `
const answers = {
  ${ports.page}: 'HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nContent-Length: 20\\r\\n\\r\\n<h1>Welcome</h1>....',
  ${ports.redirect}: 'HTTP/1.1 302 Found\\r\\nLocation: http://portal.example/\\r\\nContent-Length: 0\\r\\n\\r\\n',
}
const fs = require('node:fs')
const [cert, key] = process.argv.slice(1).map((path) => fs.readFileSync(path))
for (const [port, answer] of Object.entries(answers)) {
  const serve = (socket) => socket.on('error', () => undefined).once('data', () => socket.end(answer))
  const encrypted = require('node:tls').createServer({ cert, key }, serve)
  encrypted.listen(Number(port) + ${overTls}, '${addresses.proxy}')
  require('node:net').createServer(serve).listen(Number(port), '${addresses.proxy}', () => console.log(port))
}
`

const asPage =
  /answered with a page \(HTTP (?:200|302)\).* open a web page in a browser on this network first/s

describe('behind a proxy with a problem', needs('networks', 'squid', 'openssl'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let networks: Networks
  let caFile: string
  const programs: Program[] = []
  const children: ChildProcess[] = []
  const at = (name: string) => join(folder.path, name)

  async function runIn(host: string, ...args: string[]): Promise<void> {
    const child = spawnIn(networks.spaceOf(host), process.execPath, ...args)
    children.push(child)
    await once(child.stdout!, 'data')
  }

  beforeAll(async () => {
    folder = await temporaryFolder()
    networks = makeNetworks({
      device: { inside: '10.77.1.2' },
      proxy: { inside: addresses.proxy, outside: '10.77.2.1' },
      cloud: { outside: addresses.cloud },
    })
    const authority = makeAuthority(folder.path, 'public')
    caFile = authority.path
    const issue = (address: string): string[] => {
      const { cert, key } = authority.issue(address)
      writeFileSync(at(`${address}.crt`), cert)
      writeFileSync(at(`${address}.key`), key)
      return [at(`${address}.crt`), at(`${address}.key`)]
    }
    await runIn('cloud', '-e', entrance, ...issue(addresses.cloud), at('silent'))
    await runIn('proxy', '-e', portal, ...issue(addresses.proxy))
    const args = ['--role=cloud', `--issuer=${identityUrl}`, `--listen.port=${identityPort}`]
    const space = networks.spaceOf('cloud')
    programs.push(await startProgram('identity', { SELVEDGE_STATE: at('identity') }, args, { space }))
  })
  afterAll(async () => {
    for (const each of programs.toReversed()) await each.stop()
    for (const each of children) each.kill()
    networks?.remove()
    await folder?.remove()
  })

  const startProxy = async (name: string, settings: string) =>
    children.push(await startSquid(networks.spaceOf('proxy'), at(name), settings))

  const startDevice = (name: string, port: number) =>
    startRuntime(name, [`--identity.url=${identityUrl}`, `--network.proxy=http://${addresses.proxy}:${port}`])

  async function startRuntime(name: string, own: readonly string[]) {
    const args = [...own, '--listen.port=0', `--network.caFile=${caFile}`]
    const env = { SELVEDGE_STATE: at(name) }
    const program = await startProgram('runtime', env, args, { space: networks.spaceOf('device') })
    programs.push(program)
    const fetch = createNodeFetch({ socketPath: join(at(name), 'runtime.sock') })
    const runtime = createRuntimeClient({ url: 'http://localhost', fetch })
    /** What the command line prints. */
    async function cli(...args: string[]): Promise<string> {
      const command = [process.execPath, join(root, 'apps/cli/bin/selvedge.js'), ...args]
      const all = ['netns', 'exec', networks.spaceOf('device'), ...command]
      const own = { PATH: process.env.PATH, HOME: at(name), XDG_CONFIG_HOME: at(`${name}-config`) }
      const services = { SELVEDGE_RUNTIME_URL: program.url, SELVEDGE_CA_FILE: caFile }
      const run = promisify(execFile)('ip', all, { env: { ...own, ...services } })
      return run.then(({ stdout }) => stdout).catch(({ stdout, stderr }) => stdout + stderr)
    }
    return { runtime, cli }
  }

  /** Each place that shows the network has the problem, with its next step. */
  async function expectNamed({ runtime, cli }: Awaited<ReturnType<typeof startDevice>>, problem: RegExp) {
    const failure = () => runtime.getEdgeIdToken().then(String, (cause: Error) => cause.message)
    await expect.poll(failure).toMatch(problem)
    const shown = async () => {
      const { network, notices } = await runtime.getMe()
      return [network.identity.lastError, ...notices.map(({ reason }) => reason)]
    }
    await expect
      .poll(shown)
      .toEqual(expect.arrayContaining([expect.stringMatching(problem), 'network_unusable']))
    for (const command of ['status', 'doctor']) expect(await cli(command), command).toMatch(problem)
  }

  const access = `http_port ${addresses.proxy}:`

  it('a password that the device does not have is named', async () => {
    await writePasswords(at('with-password'), 'device', 's3cret')
    const ofSquid = (name: string) => join(at('with-password'), name)
    await startProxy(
      'with-password',
      `${access}${ports.password}\n${passwordSettings(ofSquid)}http_access allow known\nhttp_access deny all\n`,
    )
    const device = await startDevice('one', ports.password)
    await expectNamed(
      device,
      /needs a user name and a password \(HTTP 407\): put user:password into the file of network\.proxyAuthFile/,
    )
  })

  it('connections that the proxy closes while they wait are named, and requests go on', async () => {
    await startProxy('hasty', `${access}${ports.hasty}\nread_timeout 1 second\nhttp_access allow all\n`)
    writeFileSync(at('silent'), '')
    const device = await startDevice('two', ports.hasty)
    await expectNamed(
      device,
      /through the proxy http:\/\/10\.77\.1\.1:3130 was closed before the answer came\. .* longer limit, or add this host to network\.noProxy/s,
    )
    rmSync(at('silent'))
    const isAnswered = () =>
      device.runtime.getEdgeIdToken().then(
        () => true,
        () => false,
      )
    await expect.poll(isAnswered).toBe(true)
    const reasons = async () => (await device.runtime.getMe()).notices.map(({ reason }) => reason)
    await expect.poll(reasons).not.toContain('network_unusable')
  })

  it.each([
    ['a page', ports.page],
    ['a redirect to its page', ports.redirect],
  ])('a network that answers each request with %s is named', async (_, port) => {
    await expectNamed(await startDevice(`portal-${port}`, port), asPage)
  })

  it.each([
    [
      'each request with a page',
      ports.page + overTls,
      /:4131 answered with a page \(HTTP 200\), as networks do/,
    ],
    [
      'each request with a redirect',
      ports.redirect + overTls,
      /\(HTTP 302\) that leads to portal\.example, as/,
    ],
    ['TLS with a page', ports.page, /:3131 answered without TLS\. .* this network wants a person/s],
  ] as const)('a network that answers %s is named without a proxy', async (_, port, problem) => {
    const args = [`--identity.url=https://${addresses.proxy}:${port}`, '--network.proxy=direct']
    await expectNamed(await startRuntime(`direct-${port}`, args), problem)
  })
})
