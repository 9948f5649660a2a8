/** A host of the test's networks with the identity and the discovery service behind TLS, as devices elsewhere reach them. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRuntimeClient, type RuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { makeAuthority } from './authority.ts'
import { createDeveloper, type Developer } from './flow.ts'
import { type Program, root, startProgram } from './processes.ts'

export interface CloudHost {
  readonly issuer: string
  readonly discoveryUrl: string
  /** Path of the authority of its certificate. */
  readonly caFile: string
  readonly developer: Developer
  stop(): Promise<void>
}

/** Ports of TLS, and those of the services behind them. */
const services = { 443: 8084, 8443: 8085 }

/** Ends TLS, and passes the connections on to the services of the same namespace. */
const entrance = (address: string) => `
const [cert, key] = process.argv.slice(1).map((path) => require('node:fs').readFileSync(path))
for (const [port, service] of Object.entries(${JSON.stringify(services)}))
  require('node:tls').createServer({ cert, key }, (client) => {
    const upstream = require('node:net').connect(service, '127.0.0.1')
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
  }).listen(Number(port), '${address}', () => console.log(port))
`

/** Starts a program in a namespace. */
export const spawnIn = (space: string, command: string, ...args: string[]): ChildProcess =>
  spawn('ip', ['netns', 'exec', space, command, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })

/** @param space name of the namespace @param folder for its files */
export async function startCloudHost(space: string, address: string, folder: string): Promise<CloudHost> {
  const at = (name: string) => join(folder, name)
  const issuer = `https://${address}`
  const discoveryUrl = `${issuer}:8443`
  const authority = makeAuthority(folder, 'public')
  const { cert, key } = authority.issue(address)
  writeFileSync(at('server.crt'), cert)
  writeFileSync(at('server.key'), key)
  const tls = spawnIn(space, process.execPath, '-e', entrance(address), at('server.crt'), at('server.key'))
  const programs: Program[] = []
  const stop = async () => {
    for (const each of programs.toReversed()) await each.stop()
    tls.kill()
  }
  try {
    await once(tls.stdout!, 'data')
    const start = async (name: 'identity' | 'discovery', ...args: string[]) => {
      const own = [...args, `--network.caFile=${authority.path}`]
      programs.push(await startProgram(name, { SELVEDGE_STATE: at(name) }, own, { space }))
    }
    await start('identity', `--issuer=${issuer}`, '--listen.port=8084')
    await start('discovery', ...[`--identity.url=${issuer}`, `--url=${discoveryUrl}`, '--listen.port=8085'])
    const developer = await createDeveloper(at('identity'))
    return { issuer, discoveryUrl, caFile: authority.path, developer, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

export interface CloudDevice {
  readonly program: Program
  readonly runtime: RuntimeClient
  /** Access token of the developer, with all scopes that images and accounts need. */
  readonly token: string
}

/**
 * Starts a runtime on another host, with the account of the developer. The token comes from the command line on that host: the test
 * itself does not reach the identity service.
 *
 * @param space name of the namespace @param state folder; one of an earlier start is used again
 */
export async function startCloudDevice(
  cloud: CloudHost,
  space: string,
  state: string,
  args: readonly string[],
): Promise<CloudDevice> {
  const urls = [`--identity.url=${cloud.issuer}`, `--discovery.url=${cloud.discoveryUrl}`]
  const own = [...urls, '--listen.port=0', `--network.caFile=${cloud.caFile}`, ...args]
  const program = await startProgram('runtime', { SELVEDGE_STATE: state }, own, { space })
  try {
    const fetch = createNodeFetch({ socketPath: join(state, 'runtime.sock') })
    const runtime = createRuntimeClient({ url: 'http://localhost', fetch })
    const token = await readToken(cloud, space, state, program.url)
    await runtime.associateAccount({ edgeAccessToken: token })
    return { program, runtime, token }
  } catch (cause) {
    await program.stop()
    throw cause
  }
}

async function readToken(cloud: CloudHost, space: string, state: string, url: string): Promise<string> {
  const file = `${state}.developer`
  writeFileSync(file, cloud.developer.idToken, { mode: 0o600 })
  const signed = ['--developer-token-file', file, '--client-id', cloud.developer.clientId]
  const scope = 'openid edge:mcm edge:account:associate'
  const cli = [
    join(root, 'apps/cli/bin/selvedge.js'),
    'token',
    'access',
    ...signed,
    '--scope',
    scope,
    '--json',
  ]
  const env = {
    ...{ PATH: process.env.PATH, HOME: state, XDG_CONFIG_HOME: `${state}.config` },
    ...{ SELVEDGE_RUNTIME_URL: url, SELVEDGE_IDENTITY_URL: cloud.issuer, SELVEDGE_CA_FILE: cloud.caFile },
  }
  const run = ['netns', 'exec', space, process.execPath, ...cli]
  return JSON.parse((await promisify(execFile)('ip', run, { env })).stdout).access_token
}
