/** What the fleet reports to: services that run already, or a stack of its own in a temporary folder. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRpcClient, createRuntimeClient } from '@selvedge/client'
import { createNodeFetch, findSocket } from '@selvedge/client/node'
import { adminMethods } from '@selvedge/protocol/admin'
import { ConfigError } from '@selvedge/service-kit/config'
import { startChild } from '@selvedge/service-kit/lifecycle'
import type { Owner } from './devices.ts'

export interface Installation {
  readonly identityUrl: string
  readonly discoveryUrl: string
  readonly owner: Owner
  /** Whether it was made for this fleet. */
  readonly isNew: boolean
  /** Bytes of memory that the discovery service holds; undefined where it is not ours to look at. */
  memory(): number | undefined
  stop(): Promise<void>
}

type Env = Readonly<Record<string, string | undefined>>

const programOf = (name: string) => fileURLToPath(new URL(`../../${name}/dist/main.cjs`, import.meta.url))
/** The whole fleet is one address, one account and one project; its sessions last as long as the longest run. */
const unlimited = ['address', 'client', 'account', 'enrolment', 'nodes'].map(
  (name) => `--limits.${name}=1000000000`,
)
const patient = ['--sessions.lifetime=3600', '--limits.address=1000000000']

export async function startOwn(seed: string): Promise<Installation> {
  const state = mkdtempSync(join(tmpdir(), 'selvedge-simulate-'))
  const env = {
    PATH: process.env.PATH,
    SELVEDGE_STATE: state,
    SELVEDGE_IDENTITY_PORT: '0',
    SELVEDGE_DISCOVERY_PORT: '0',
  }
  const identity = await startChild('identity', programOf('identity'), env, { args: unlimited })
  const discovery = await startChild(
    'discovery',
    programOf('discovery'),
    { ...env, SELVEDGE_IDENTITY_URL: identity.url },
    { args: patient },
  )
  return {
    identityUrl: identity.url,
    discoveryUrl: discovery.url,
    owner: await ownerOf(socketIn(state, 'admin.sock', true), seed),
    isNew: true,
    memory: () => residentMemory(discovery.pid),
    async stop() {
      await discovery.stop()
      await identity.stop()
      rmSync(state, { recursive: true, force: true })
    },
  }
}

/**
 * The services that the runtime of the state folder uses. Developer tokens are sent to them, so only a runtime of this user or
 * root is asked, over its socket.
 *
 * @throws ConfigError where nothing runs
 */
export async function findRunning(env: Env, seed: string): Promise<Installation> {
  const isNamed = Boolean(env.SELVEDGE_STATE)
  const state = env.SELVEDGE_STATE || './.selvedge'
  const socketPath = socketIn(state, 'runtime.sock', isNamed)
  const runtime = createRuntimeClient({ url: 'http://localhost', fetch: createNodeFetch({ socketPath }) })
  const { identity, discovery } = (await runtime.getMe()).network
  return {
    identityUrl: identity.url!,
    discoveryUrl: discovery.url!,
    owner: await ownerOf(socketIn(state, 'admin.sock', isNamed), seed),
    isNew: false,
    memory: () => undefined,
    stop: async () => undefined,
  }
}

/** Path of a socket that belongs to this user or root. @throws ConfigError */
function socketIn(state: string, name: string, named: boolean): string {
  const found = findSocket(state, name, { named })
  if (found.state === 'own') return found.path
  const problem =
    found.state === 'refused'
      ? found.reason
      : found.state === 'absent'
        ? `it has no ${name}`
        : `its ${name} belongs to user ${found.uid}`
  throw new ConfigError(
    `no stack runs on ${state}: ${problem}. Start one with "npm start", or leave --running out`,
  )
}

/** The account of the fleet: made the first time that a seed is used. */
async function ownerOf(adminSocket: string, seed: string): Promise<Owner> {
  const admin = createRpcClient(adminMethods, {
    url: 'http://localhost',
    fetch: createNodeFetch({ socketPath: adminSocket }),
  })
  const email = `simulator-${Buffer.from(seed).toString('hex').slice(0, 32)}@selvedge.invalid`
  const known = (await admin['account.list']()).find((each) => each.email === email)
  const { accountId } = known ?? (await admin['account.create']({ email }))
  const projects = await admin['project.list']()
  const project = projects.find((each) => each.accountId === accountId)
  const name = 'simulator'
  const { clientId } =
    project ?? (await admin['project.create']({ name, email, scopes: null, resources: null }))
  const { idToken } = await admin['token.developer.create']({ email, clientId, days: 1 })
  return { accountId, clientId, idToken }
}

/** Linux only (proc(5)). */
function residentMemory(pid: number | undefined): number | undefined {
  try {
    const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  } catch {
    return undefined
  }
}
