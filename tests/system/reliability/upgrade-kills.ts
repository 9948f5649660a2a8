/**
 * Kills of `selvedge upgrade`, of the launcher and of the runtime at any moment of an upgrade, with the real programs. After each of
 * them the service starts again, as the same node of the same account, and the next upgrade succeeds.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@selvedge/service-kit/testing'
import { readInstallation } from '../../../apps/cli/src/upgrade/installation.ts'
import { cliPath } from '../../harness/cli.ts'
import { accessToken, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { root, type Stack, startStack, temporaryFolder } from '../../harness/processes.ts'
import { createChance, testSeed } from '../../harness/seed.ts'
import { makeInstallation, packRelease } from '../upgrade/installation.ts'

/** What is killed in a round. */
const victims = ['the upgrade', 'the service', 'both'] as const

export interface Outcome {
  readonly rounds: Readonly<Record<string, number>>
  /** Upgrades that were acknowledged and confirmed themselves. */
  readonly confirmed: number
  readonly rolledBack: number
  readonly failures: readonly string[]
}

export const runtimeProgram = `folder=$(dirname "$(dirname "$(readlink -f "$0")")")
exec ${process.execPath} "$folder/runtime/dist/main.cjs"`

/** A service manager: starts the service after each exit, until it is stopped. */
class Manager {
  #child: ChildProcess | undefined
  #isStopped = false
  readonly #prefix: string
  readonly #env: Readonly<Record<string, string | undefined>>

  constructor(prefix: string, env: Readonly<Record<string, string | undefined>>) {
    this.#prefix = prefix
    this.#env = env
    this.#start()
  }

  #start(): void {
    if (this.#isStopped) return
    this.#child = spawn(join(this.#prefix, 'choose-release'), ['selvedge-runtime'], {
      env: this.#env,
      stdio: 'ignore',
    })
    // After a restart by order, systemd starts the service at once; after another end, it waits.
    this.#child.once('exit', (code) => setTimeout(() => this.#start(), code === 0 ? 0 : 50))
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child?.kill(signal)
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#isStopped = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
}

export interface Installed {
  readonly prefix: string
  readonly state: string
  readonly url: string
  readonly manager: Manager
}

/** Starts a runtime in an installation of releases. @param more of its environment */
export async function install(
  stack: Stack,
  folder: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Installed> {
  const prefix = makeInstallation(folder, '1.0.0', { program: runtimeProgram, fill })
  const state = join(folder, 'state')
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    SELVEDGE_RUNTIME_PORT: String(port),
    STATE_DIRECTORY: state,
    SELVEDGE_STATE: state,
    SELVEDGE_LINK_LOCAL: 'false',
    SELVEDGE_IDENTITY_URL: stack.identity.url,
    SELVEDGE_DISCOVERY_URL: stack.discovery.url,
    ...more,
  }
  const manager = new Manager(prefix, env)
  return { prefix, state, url: `http://127.0.0.1:${port}`, manager }
}

export function fill(release: string): void {
  mkdirSync(join(release, 'runtime'), { recursive: true })
  cpSync(join(root, 'apps/runtime/dist'), join(release, 'runtime/dist'), { recursive: true })
}

/** Resolves with what the node is, once it answers. @throws Error after a minute */
export async function answers(installed: Installed) {
  const until = Date.now() + 60_000
  for (;;) {
    try {
      return await runtimeOf({ runtime: installed }).getMe()
    } catch (cause) {
      if (Date.now() > until) throw new Error(`no runtime answers: ${(cause as Error).message}`)
      await sleep(20)
    }
  }
}

export function upgradeArgs({ prefix }: Installed, ...args: string[]): string[] {
  return [cliPath, 'upgrade', ...args, '--prefix', prefix, '--skip-restart', '--json']
}

/** Resolves once the release that runs has confirmed itself. It reads what `selvedge upgrade --status` reads, without a process each time. */
export async function settled(installed: Installed): Promise<{ readonly current: string }> {
  for (let tried = 0; tried < 600; tried++) {
    await answers(installed)
    const found = readInstallation(installed.prefix, installed.state)
    if (found.phase === 'confirmed') return found
    // An upgrade that was never started: the service manager would start it at the next restart.
    if (found.phase === 'untried') installed.manager.kill()
    await sleep(100)
  }
  throw new Error('no release confirmed itself')
}

export async function killUpgrades(
  rounds: number,
  say: (text: string) => void,
  seed = testSeed,
): Promise<Outcome> {
  const random = createChance(seed)
  const folder = await temporaryFolder()
  const stack = await startStack()
  const installed = await install(stack, folder.path)
  const counts: Record<string, number> = {}
  const failures: string[] = []
  let [confirmed, rolledBack] = [0, 0]
  try {
    const developer = await createDeveloper(stack.state)
    const first = await answers(installed)
    const runtime = { url: installed.url }
    const token = await accessToken({ identity: stack.identity, runtime }, developer)
    await runtimeOf({ runtime }).associateAccount({ edgeAccessToken: token })
    await settled(installed)
    for (let round = 1; round <= rounds; round++) {
      const victim = victims[round % victims.length]!
      counts[victim] = (counts[victim] ?? 0) + 1
      const version = `1.${round}.0`
      const fail = (what: string) => failures.push(`round ${round}, ${victim} killed: ${what}`)
      try {
        await killOnce(installed, folder.path, version, victim, random() * 1500)
        const me = await answers(installed)
        if (me.nodeId !== first.nodeId) fail(`it is another node: ${me.nodeId}`)
        if (me.accountId !== developer.accountId) fail(`its account is ${JSON.stringify(me.accountId)}`)
        if (me.notices.length > 0) fail(`notices: ${me.notices.map(({ reason }) => reason).join(', ')}`)
        const found = await settled(installed)
        if (found.current === version) confirmed++
        else rolledBack++
      } catch (cause) {
        fail((cause as Error).message)
      }
      if (round % 20 === 0)
        say(`${round} rounds: ${confirmed} confirmed, ${rolledBack} not, ${failures.length} failures`)
    }
  } finally {
    await installed.manager.stop()
    await stack.stop()
    await folder.remove()
  }
  return { rounds: counts, confirmed, rolledBack, failures }
}

/** One upgrade, and one kill at a random moment of it or of the starts after it. */
async function killOnce(
  installed: Installed,
  folder: string,
  version: string,
  victim: (typeof victims)[number],
  afterMs: number,
): Promise<void> {
  const own = join(folder, `packed-${version}`)
  mkdirSync(own)
  const { archive } = packRelease(own, version, { program: runtimeProgram, fill })
  const env = { PATH: process.env.PATH, SELVEDGE_STATE: installed.state }
  const upgrade = spawn(process.execPath, upgradeArgs(installed, archive), { env, stdio: 'ignore' })
  const done = once(upgrade, 'exit').then(() => installed.manager.kill())
  await sleep(afterMs)
  if (victim !== 'the service') upgrade.kill('SIGKILL')
  if (victim !== 'the upgrade') installed.manager.kill()
  await done
  rmSync(own, { recursive: true })
  for (const name of readdirSync(join(installed.prefix, 'releases')))
    if (!existsSync(join(installed.prefix, 'releases', name, 'VERSION')) && !basename(name).startsWith('.'))
      throw new Error(`the release ${name} is not whole`)
}
