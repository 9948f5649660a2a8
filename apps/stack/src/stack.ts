/**
 * The whole local stack: identity, discovery and runtime as processes of their own, in that order, each with the addresses of
 * the others. One that ends is started again. They end with this process, however it ends.
 */
import { once } from 'node:events'
import { rename, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError, readConfigFile } from '@selvedge/service-kit/config'
import { type Child, type Service, startChild } from '@selvedge/service-kit/lifecycle'
import { writeNote } from '@selvedge/service-kit/log'
import { openStateFolder } from '@selvedge/service-kit/store'
import { type Supervised, supervise } from './supervise.ts'

type Env = Readonly<Record<string, string | undefined>>

const programOf = (name: string) => fileURLToPath(new URL(`../../${name}/dist/main.cjs`, import.meta.url))

/** The state folder, from the environment or the configuration file, as for each program alone. */
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

type Name = 'identity' | 'discovery' | 'runtime'

/** The environment of one program. The secrets of the identity service are for that service alone. */
function environmentOf(name: Name, env: Env, own: Record<string, string>): Env {
  const { SELVEDGE_IDENTITY_KEYS: _keys, SELVEDGE_IDENTITY_STORE: _store, ...others } = env
  return { ...(name === 'identity' ? env : others), ...own }
}

/**
 * @param env accepts the variables of the three programs; see docs/reference/configuration.md
 * @param stopped ends what has been started so far
 * @throws ConfigError | StoreError | ChildFailure when one of them does not start
 */
export async function startStack(env: Env, argv: readonly string[], stopped: AbortSignal): Promise<Service> {
  if (argv.length > 0)
    throw new ConfigError(
      `unknown argument "${argv[0]}"; the stack is set up by environment variables and the configuration file`,
    )
  const state = resolve(stateFolder(env))
  openStateFolder(state, undefined, writeNote)
  const addresses = join(state, 'stack.json')

  const parts: Supervised[] = []
  const start = async (name: Name, more: Record<string, string> = {}): Promise<Child> => {
    const own = environmentOf(name, env, { ...more, SELVEDGE_STATE: state })
    const child = await startChild(name, programOf(name), own, { stopped })
    const portVariable = `SELVEDGE_${name.toUpperCase()}_PORT`
    parts.push(
      supervise(child, {
        name,
        restart: (port, signal) =>
          startChild(name, programOf(name), { ...own, [portVariable]: port }, { stopped: signal }),
        say: (sentence) => writeNote(`error: ${sentence}`),
        onRestarted: ({ ready }) =>
          void process.stderr.write(`${name} runs again at ${ready.url}\n${ownerLine(ready.setup)}`),
        now: () => performance.now(),
      }),
    )
    return child
  }
  const stop = async () => {
    // Another stack may run on this folder: its file is not ours to remove.
    if (parts.length > 0) await rm(addresses, { force: true })
    for (const part of parts.toReversed()) await part.stop()
  }

  try {
    const discoveryPort = await discoveryPortFor(env)
    // Anything else than a number is for the discovery service to refuse.
    const isNumber = /^\d+$/.test(discoveryPort)
    const identity = await start(
      'identity',
      isNumber && !env.SELVEDGE_DISCOVERY_URL
        ? { SELVEDGE_DISCOVERY_URL: `http://127.0.0.1:${discoveryPort}` }
        : {},
    )
    // The folder is ours now; addresses in it are of a stack that was killed.
    await rm(addresses, { force: true })
    const urlOfIdentity = { SELVEDGE_IDENTITY_URL: identity.url }
    const discovery = await start('discovery', { ...urlOfIdentity, SELVEDGE_DISCOVERY_PORT: discoveryPort })
    const runtime = await start('runtime', { ...urlOfIdentity, SELVEDGE_DISCOVERY_URL: discovery.url })
    const urls = { runtime: runtime.url, identity: identity.url, discovery: discovery.url }
    await writeFile(`${addresses}.new`, `${JSON.stringify(urls)}\n`)
    await rename(`${addresses}.new`, addresses)
    process.stdout.write(
      `selvedge is ready\n  runtime    ${urls.runtime}\n  identity   ${urls.identity}\n  discovery  ${urls.discovery}\n  state      ${state}\n  console    ${consoleOf(urls.identity)}\n${ownerLine(identity.ready.setup)}`,
    )
    return { ready: urls, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

const ownerLine = (setup: string | undefined): string =>
  setup === undefined
    ? ''
    : `  owner      ${setup}\n             Open this link once: it makes the owner's account.\n`
