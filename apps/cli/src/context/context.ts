/** What every command works with: the callers of the services, found from flags, environment and state folder. */
import { existsSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  createDiscoveryClient,
  createIdentityClient,
  createRpcClient,
  createRuntimeClient,
  type DiscoveryClient,
  type Fetch,
  type IdentityClient,
  type RpcClient,
  type RpcConnection,
  type RuntimeClient,
} from '@selvedge/client'
import { createNodeFetch, type StreamConnection } from '@selvedge/client/node'
import { version } from '@selvedge/protocol'
import { type AdminMethods, adminMethods } from '@selvedge/protocol/admin'
import { UsageError } from '../failure.ts'
import { createLoginFile, type LoginFile } from '../login/login-file.ts'
import { traced } from './trace.ts'

export interface Context {
  readonly runtime: RuntimeClient
  /** The way to the runtime, for methods that the table does not know. */
  readonly runtimeConnection: RpcConnection
  /** The way to the runtime for streams. */
  readonly streams: (edgeAccessToken: string) => StreamConnection
  readonly identity: IdentityClient
  readonly identityUrl: string
  /** The identity service at another URL, such as that of a sign-in. */
  readonly identityAt: (url: string) => IdentityClient
  readonly loginFile: LoginFile
  readonly discovery: DiscoveryClient
  readonly discoveryUrl: string
  readonly admin: RpcClient<AdminMethods>
  /** Unix seconds. */
  readonly now: () => number
  /** Whether something answers at a URL with a good status. */
  readonly answers: (url: string) => Promise<boolean>
}

export interface ContextFlags {
  readonly state?: string
  readonly url?: string
  readonly identityUrl?: string
  readonly discoveryUrl?: string
  readonly verbose?: boolean
}

type Env = Readonly<Record<string, string | undefined>>

export function createContext(flags: ContextFlags, env: Env): Context {
  const state = flags.state ?? (env.SELVEDGE_STATE || './.selvedge')
  const stack = readStack(state)
  const trace = (fetch: Fetch, socketPath?: string): Fetch =>
    flags.verbose ? traced(fetch, socketPath) : fetch
  const overSocket = (socketPath: string) => trace(createNodeFetch({ socketPath }), socketPath)
  // Whoever approves a sign-in sees from which machine it came.
  const userAgent = `selvedge/${version} on ${hostname()}`
  const overTcp = trace(createNodeFetch({ userAgent }))

  const identityUrl = trim(
    flags.identityUrl ?? env.SELVEDGE_IDENTITY_URL ?? stack.identity ?? 'http://127.0.0.1:8084',
  )
  const discoveryUrl = trim(
    flags.discoveryUrl ?? env.SELVEDGE_DISCOVERY_URL ?? stack.discovery ?? 'http://127.0.0.1:8085',
  )
  const runtimeUrl = flags.url ?? env.SELVEDGE_RUNTIME_URL
  const socket = join(state, 'runtime.sock')
  const apiKey = readApiKey(state, env)
  const isLocal = runtimeUrl === undefined && existsSync(socket)
  const runtimeConnection: RpcConnection = {
    ...(isLocal
      ? { url: 'http://localhost', fetch: overSocket(socket) }
      : { url: trim(runtimeUrl ?? stack.runtime ?? 'http://127.0.0.1:8083'), fetch: overTcp }),
    ...(apiKey !== undefined && { apiKey }),
  }
  return {
    runtime: createRuntimeClient(runtimeConnection),
    runtimeConnection,
    streams: (edgeAccessToken) => ({
      url: runtimeConnection.url,
      ...(isLocal && { socketPath: socket }),
      edgeAccessToken,
    }),
    identity: createIdentityClient({ url: identityUrl, fetch: overTcp }),
    identityUrl,
    identityAt: (url) => createIdentityClient({ url, fetch: overTcp }),
    loginFile: createLoginFile(state),
    discovery: createDiscoveryClient({ url: discoveryUrl, fetch: overTcp }),
    discoveryUrl,
    admin: createRpcClient(adminMethods, {
      url: 'http://localhost',
      fetch: overSocket(join(state, 'admin.sock')),
    }),
    now: () => Math.floor(Date.now() / 1000),
    answers: async (url) => {
      const init = {
        method: 'GET',
        headers: {},
        signal: AbortSignal.timeout(2000),
        redirect: 'error',
      } as const
      return overTcp(url, init).then(
        ({ status }) => status === 200,
        () => false,
      )
    },
  }
}

const trim = (url: string): string => url.replace(/\/+$/, '')

/** Addresses that a running stack wrote down. */
function readStack(state: string): Partial<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(join(state, 'stack.json'), 'utf8'))
  } catch {
    return {}
  }
}

function readApiKey(state: string, env: Env): string | undefined {
  if (env.SELVEDGE_API_KEY) return env.SELVEDGE_API_KEY
  const path = join(state, 'api-key')
  if (!existsSync(path)) return undefined
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new UsageError(
      `can't read the API key in ${path}: ${(cause as Error).message}`,
      'Run as the user of the runtime, or set SELVEDGE_API_KEY.',
    )
  }
}
