/**
 * The whole local stack: identity, discovery and runtime as processes of their own, in that order, each told where the others
 * are. They end with this process, however it ends.
 */
import { once } from 'node:events'
import { rename, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError, readConfigFile } from '@selvedge/service-kit/config'
import { type Child, type Service, startChild } from '@selvedge/service-kit/lifecycle'
import { openStateFolder } from '@selvedge/service-kit/store'

type Env = Readonly<Record<string, string | undefined>>

const programOf = (name: string) => fileURLToPath(new URL(`../../${name}/dist/main.cjs`, import.meta.url))

/** Where the state is: the environment says so, or the configuration file, as for each program alone. */
function stateFolder(env: Env): string {
  const { state } = readConfigFile(env.SELVEDGE_CONFIG, 'runtime') as { state?: string }
  return env.SELVEDGE_STATE || state || './.selvedge'
}

/** Passkeys need a name, which an address of the loopback is not. */
const consoleOf = (identity: string): string => identity.replace('//127.0.0.1:', '//localhost:')

/** The port of the discovery service, which the identity service has to know before it runs: for "any", one that is free now. */
async function discoveryPortFor(env: Env): Promise<string> {
  const file = readConfigFile(env.SELVEDGE_CONFIG, 'discovery') as {
    'listen.port'?: number
    listen?: { port?: number }
  }
  const port = env.SELVEDGE_DISCOVERY_PORT || String(file['listen.port'] ?? file.listen?.port ?? 8085)
  if (port !== '0') return port
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: free } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return String(free)
}

/**
 * @param env takes the variables of the three programs; see docs/reference/configuration.md
 * @throws Error when one of them does not start
 */
export async function startStack(env: Env, argv: readonly string[]): Promise<Service> {
  if (argv.length > 0)
    throw new ConfigError(
      `unknown argument "${argv[0]}"; the stack is set up by environment variables and the configuration file`,
    )
  const state = resolve(stateFolder(env))
  openStateFolder(state, undefined, (message) => process.stderr.write(`${message}\n`))
  const addresses = join(state, 'stack.json')

  const children: Child[] = []
  let stopping = false
  const start = async (
    name: string,
    more: Record<string, string> = {},
  ): Promise<{ url: string; setup?: string }> => {
    // The secrets of the identity service are nobody else's business.
    const { SELVEDGE_IDENTITY_KEYS: _keys, SELVEDGE_IDENTITY_STORE: _store, ...others } = env
    const own = name === 'identity' ? env : others
    const child = await startChild(name, programOf(name), { ...own, SELVEDGE_STATE: state, ...more })
    children.push(child)
    void child.ended.then((how) => {
      if (stopping) return
      process.stderr.write(`error: ${name} ended ${how}; stopping the stack\n`)
      process.kill(process.pid, 'SIGTERM')
    })
    return { ...child.ready, url: child.url }
  }
  const stop = async () => {
    stopping = true
    // Another stack may run on this folder: what it wrote down is not ours to remove.
    if (children.length > 0) await rm(addresses, { force: true })
    for (const child of children.toReversed()) await child.stop()
  }

  try {
    const discoveryPort = await discoveryPortFor(env)
    // Anything else than a number is for the discovery service to refuse.
    const isNumber = /^\d+$/.test(discoveryPort)
    const { url: identity, setup } = await start(
      'identity',
      isNumber && !env.SELVEDGE_DISCOVERY_URL
        ? { SELVEDGE_DISCOVERY_URL: `http://127.0.0.1:${discoveryPort}` }
        : {},
    )
    // The folder is ours now; addresses in it are of a stack that was killed.
    await rm(addresses, { force: true })
    const { url: discovery } = await start('discovery', {
      SELVEDGE_IDENTITY_URL: identity,
      SELVEDGE_DISCOVERY_PORT: discoveryPort,
    })
    const { url: runtime } = await start('runtime', {
      SELVEDGE_IDENTITY_URL: identity,
      SELVEDGE_DISCOVERY_URL: discovery,
    })
    const urls = { runtime, identity, discovery }
    await writeFile(`${addresses}.new`, `${JSON.stringify(urls)}\n`)
    await rename(`${addresses}.new`, addresses)
    process.stdout.write(
      `selvedge is ready\n  runtime    ${runtime}\n  identity   ${identity}\n  discovery  ${discovery}\n  state      ${state}\n  console    ${consoleOf(identity)}\n${setup ? `  owner      ${setup}\n             Open this link once: it makes the owner's account.\n` : ''}`,
    )
    return { ready: urls, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}
