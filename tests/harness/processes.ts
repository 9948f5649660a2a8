/** Starts the built programs as a user would get them: own processes, own state folder, free ports; stopped by their test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@selvedge/service-kit/testing'
import { raiseAlarm, watch } from './gate.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Program {
  readonly url: string
  /** What it sent to its parent: for identity, the link of the first owner. */
  readonly ready: Readonly<Record<string, string>>
  readonly process: ChildProcess
  /** What it wrote on standard error. */
  errors(): string
  /** To be called before a test ends the program in another way than with `stop`. */
  expectEnd(): void
  /** To be called before a test brings about an unhandled rejection or a crash of the program. */
  expectAlarm(): void
  stop(signal?: NodeJS.Signals): Promise<void>
}

export const temporaryFolder = async (): Promise<{ path: string; remove: () => Promise<void> }> => {
  const path = await mkdtemp(join(tmpdir(), 'selvedge-'))
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 10 }) }
}

/** What a program gets of the environment of the test: where commands are, and where Node.js keeps compiled code, if anywhere. */
export function ownEnv(program: 'runtime' | 'identity' | 'discovery' | 'cli'): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE: cache } = process.env
  // The runtime has a code cache of its own.
  return { PATH, ...(cache !== undefined && program !== 'runtime' && { NODE_COMPILE_CACHE: cache }) }
}

/** Where a program runs; left out: where the test runs, from its checkout. */
export interface StartPlace {
  /** A network namespace. */
  readonly space?: string
  readonly cwd?: string
  /** Another built checkout, such as that of an earlier version. */
  readonly checkout?: string
  /** An ordinary user, by its ID. Needs root. */
  readonly user?: number
  /** Files of the device that it finds replaced, by their path: with the content of another file. Needs the right to mount. */
  readonly replaced?: Readonly<Record<string, string>>
}

/** Starts a program that finds other files: a mount namespace of its own, in which it keeps its process ID. */
const replacing = (files: Readonly<Record<string, string>>): readonly string[] => [
  ...['unshare', '--mount', '--propagation', 'slave', 'sh', '-ec'],
  `${Object.entries(files)
    .map(([path, other]) => `mount --bind ${other} ${path}`)
    .join('; ')}; exec "$0" "$@"`,
]

/** Runs a program until it is ready. @throws with its standard error, and its exit code as `code`, where it ends before */
export async function startProgram(
  name: 'runtime' | 'identity' | 'discovery',
  env: Record<string, string>,
  args: readonly string[] = [],
  { space, cwd, user, replaced, checkout = root }: StartPlace = {},
): Promise<Program> {
  const inSpace = space === undefined ? [] : ['ip', 'netns', 'exec', space]
  const [command = '', ...rest] = [
    ...inSpace,
    ...(replaced ? replacing(replaced) : []),
    ...(user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups']),
    process.execPath,
    join(checkout, 'apps', name, 'dist/main.cjs'),
    ...args,
  ]
  const child = spawn(command, rest, {
    ...(cwd !== undefined && { cwd }),
    // Hundreds of runtimes need not find each other on the network of the machine that runs the tests.
    env: { ...ownEnv(name), SELVEDGE_LINK_LOCAL: 'false', ...env, ...(await lastingPorts(env)) },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const watched = watch(name, child)
  const said = await Promise.race([
    once(child, 'message').then(([message]) => message as { ready: Record<string, string> }),
    once(child, 'exit').then(() => undefined),
  ])
  if (!said)
    throw Object.assign(new Error(`${name} did not start: ${watched.errors()}`), { code: child.exitCode })
  watched.mustRun()
  return {
    url: said.ready.url!,
    ready: said.ready,
    process: child,
    errors: watched.errors,
    expectEnd: watched.expectEnd,
    expectAlarm: watched.expectAlarm,
    async stop(signal = 'SIGTERM') {
      watched.expectEnd()
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill(signal)
      await once(child, 'exit')
      // Killed by itself is how it ends what does not end in time.
      if (signal === 'SIGTERM' && child.exitCode !== 0 && child.signalCode !== 'SIGKILL')
        raiseAlarm(`${name} did not stop in order, exit code ${child.exitCode}: ${watched.errors()}`)
    },
  }
}

/** A free port in place of each 0: unlike one of the kernel's choice, it is still free when the program is started again on it. */
async function lastingPorts(env: Record<string, string>): Promise<Record<string, string>> {
  const asked = Object.keys(freePorts).filter((name) => env[name] === '0')
  return Object.fromEntries(await Promise.all(asked.map(async (name) => [name, String(await freePort())])))
}

export interface Stack {
  readonly state: string
  readonly identity: Program
  readonly discovery: Program
  readonly runtime: Program
  stop(): Promise<void>
}

/** The three programs on one state folder, configured with each other's URLs as the stack does it. */
export async function startStack(
  options: {
    runtime?: readonly string[]
    identity?: readonly string[]
    discovery?: readonly string[]
    env?: Record<string, string>
    /** What one of them gets beside it. */
    envOf?: Partial<Record<'runtime' | 'identity' | 'discovery', Record<string, string>>>
    /** Of the runtime. */
    place?: StartPlace
  } = {},
): Promise<Stack> {
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, ...freePorts, ...options.env }
  const { envOf = {} } = options
  const discoveryPort = await freePort()
  const identity = await startProgram(
    'identity',
    { ...env, SELVEDGE_DISCOVERY_URL: `http://127.0.0.1:${discoveryPort}`, ...envOf.identity },
    options.identity,
  )
  const discovery = await startProgram(
    'discovery',
    {
      ...env,
      SELVEDGE_DISCOVERY_PORT: String(discoveryPort),
      SELVEDGE_IDENTITY_URL: identity.url,
      ...envOf.discovery,
    },
    options.discovery,
  )
  const urls = { SELVEDGE_IDENTITY_URL: identity.url, SELVEDGE_DISCOVERY_URL: discovery.url }
  const runtime = await startProgram(
    'runtime',
    { ...env, ...urls, ...envOf.runtime },
    options.runtime,
    options.place,
  )
  return {
    state: env.SELVEDGE_STATE,
    identity,
    discovery,
    runtime,
    async stop() {
      for (const each of [runtime, discovery, identity]) await each.stop()
      await folder.remove()
    },
  }
}

export const freePorts = {
  SELVEDGE_RUNTIME_PORT: '0',
  SELVEDGE_IDENTITY_PORT: '0',
  SELVEDGE_DISCOVERY_PORT: '0',
}
