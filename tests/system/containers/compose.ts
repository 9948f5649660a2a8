/** The services of `deploy/compose.yaml` in containers, a device in another one, and callers of both on this machine. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  createIdentityClient,
  createRuntimeClient,
  type Fetch,
  type IdentityClient,
  type RuntimeClient,
} from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { freePort } from '@selvedge/service-kit/testing'
import type { Podman } from '../../harness/podman.ts'
import { type Commands, project } from './commands.ts'
import { version } from './images.ts'

/** Name of the services: it leads to haproxy in the networks of the containers, and here by `resolve`. */
const host = 'selvedge.test'

/** Twelve containers start at once, on a machine that may be busy with others. */
const healthyWithinMs = 280_000

export interface Compose {
  readonly commands: Commands
  readonly identity: IdentityClient
  readonly runtime: RuntimeClient
  readonly issuer: string
  readonly fetch: Fetch
  /** Name of the container of a service. */
  nameOf(service: string): string
  /** Kills the main process of a container, as a crash does; the engine starts it again. */
  kill(service: string): Promise<void>
  restarts(service: string): Promise<number>
  logs(service: string): Promise<string>
  /** Runs Podman, while callers in this process go on. */
  podman(...args: readonly string[]): Promise<string>
  untilHealthy(service: string): Promise<void>
  stop(): Promise<void>
}

/** @param commands of the page; those that build the images were run */
export async function startCompose(podman: Podman, commands: Commands): Promise<Compose> {
  const [identityPort, discoveryPort] = [await freePort(), await freePort()]
  const issuer = `https://${host}:${identityPort}`
  const settings = {
    HOST: host,
    LISTEN: '127.0.0.1',
    IDENTITY_PORT: identityPort,
    DISCOVERY_PORT: discoveryPort,
    IDENTITY_URL: issuer,
    DISCOVERY_URL: `https://${host}:${discoveryPort}`,
    IDENTITY_IMAGE: `localhost/selvedge-identity:${version}`,
    DISCOVERY_IMAGE: `localhost/selvedge-discovery:${version}`,
    DATABASE_IMAGE: 'localhost/postgres',
    HAPROXY_IMAGE: 'localhost/haproxy',
    LOCATIONS_IMAGE: 'localhost/redis',
    LOCATIONS_PROGRAM: 'redis',
  }
  writeFileSync(
    join(commands.folder, 'deploy/.env'),
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
  await commands.run('Secrets')
  await commands.run('Start')
  const secrets = join(commands.folder, 'deploy/secrets')
  const fetch = fetchThrough(readFileSync(join(secrets, 'ca.pem'), 'utf8'))
  const socketPath = startDevice(podman, join(secrets, 'ca.pem'), settings)
  const nameOf = (service: string) => (service === 'haproxy' ? host : `${project}_${service}_1`)
  const run = async (...args: readonly string[]) =>
    (await promisify(execFile)('podman', args, { env: podman.env, maxBuffer: 1e8 })).stdout
  const logs = async (service: string) => {
    const options = { env: podman.env, maxBuffer: 1e8 }
    const { stdout, stderr } = await promisify(execFile)('podman', ['logs', nameOf(service)], options)
    return stdout + stderr
  }
  const inspect = (service: string, format: string) => run('inspect', '--format', format, nameOf(service))
  return {
    commands,
    issuer,
    fetch,
    nameOf,
    identity: createIdentityClient({ url: issuer, fetch }),
    runtime: createRuntimeClient({ url: 'http://localhost', fetch: createNodeFetch({ socketPath }) }),
    podman: run,
    kill: async (service) => void process.kill(Number(await inspect(service, '{{.State.Pid}}')), 'SIGKILL'),
    restarts: async (service) => Number(await inspect(service, '{{.RestartCount}}')),
    logs,
    async untilHealthy(service) {
      const until = Date.now() + healthyWithinMs
      for (;;) {
        try {
          return void (await run('healthcheck', 'run', nameOf(service)))
        } catch (cause) {
          if (Date.now() > until)
            throw new Error(`${service} did not become healthy:\n${await logs(service)}`, { cause })
          // Each check starts Podman, and Node.js in the container.
          await new Promise((resolve) => setTimeout(resolve, 1000))
        }
      }
    },
    async stop() {
      await commands.shell('compose down --volumes')
      podman.run('rm', '--force', '--time', '0', 'device')
      podman.run('network', 'rm', ...['public', 'services', 'data'].map((each) => `${project}_${each}`))
    },
  }
}

/** An authority and the certificate that it issued for the services. */
export function makeAuthority(folder: string): Record<string, string> {
  const at = (name: string) => join(folder, 'authority', name)
  mkdirSync(at('.'))
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const ca = ['-addext', 'basicConstraints=critical,CA:TRUE', '-keyout', at('ca.key'), '-out', at('ca.pem')]
  openssl('req', '-x509', ...key, '-subj', '/CN=Test authority', ...ca)
  const leaf = ['-addext', `subjectAltName=DNS:${host}`, '-addext', 'basicConstraints=critical,CA:FALSE']
  const issued = [
    '-CA',
    at('ca.pem'),
    '-CAkey',
    at('ca.key'),
    '-keyout',
    at('tls.key'),
    '-out',
    at('tls.crt'),
  ]
  openssl('req', '-x509', ...key, '-subj', `/CN=${host}`, ...leaf, ...issued)
  writeFileSync(at('tls.pem'), readFileSync(at('tls.crt'), 'utf8') + readFileSync(at('tls.key'), 'utf8'))
  return { TLS_FILE: at('tls.pem'), CA_FILE: at('ca.pem') }
}

/** @returns path of the socket of the runtime's API */
function startDevice(
  podman: Podman,
  ca: string,
  { IDENTITY_URL, DISCOVERY_URL }: { IDENTITY_URL: string; DISCOVERY_URL: string },
): string {
  podman.run('volume', 'create', 'device')
  const variables = {
    NODE_EXTRA_CA_CERTS: '/run/secrets/ca.pem',
    SELVEDGE_IDENTITY_URL: IDENTITY_URL,
    SELVEDGE_DISCOVERY_URL: DISCOVERY_URL,
    SELVEDGE_LINK_LOCAL: 'false',
  }
  podman.run(
    ...['run', '--detach', '--name', 'device', '--init', '--read-only', '--cap-drop', 'ALL'],
    ...['--network', `${project}_public`, '--volume', 'device:/var/lib/selvedge'],
    ...['--volume', `${ca}:/run/secrets/ca.pem:ro`],
    ...Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    `localhost/selvedge-runtime:${version}`,
  )
  const volume = podman.run('volume', 'inspect', '--format', '{{.Mountpoint}}', 'device').trim()
  return join(volume, 'state/runtime.sock')
}

/** Connects to the ports that haproxy publishes on the loopback interface, whatever the name in the URL. */
function fetchThrough(ca: string): Fetch {
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const { port, pathname, search } = new URL(url)
      const sent = request(
        {
          ...{
            host: '127.0.0.1',
            port,
            path: pathname + search,
            method,
            signal,
            ca,
            servername: host,
            agent: false,
          },
          headers: {
            ...headers,
            Host: `${host}:${port}`,
            ...(body && { 'Content-Length': Buffer.byteLength(body) }),
          },
        },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk) => {
            text += chunk
          })
          response.on('error', reject)
          response.on('end', () =>
            resolve({
              status: response.statusCode!,
              headers: { get: (name) => response.headers[name.toLowerCase()]?.toString() ?? null },
              text: async () => text,
            }),
          )
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
}
