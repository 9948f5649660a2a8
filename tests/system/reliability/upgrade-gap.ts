/**
 * What callers notice of an upgrade: a device with the launcher and two releases is called at a steady rate, each call on a connection of
 * its own, while it is upgraded again and again. Every answer is the right one, "not now" (503), a call that the stop cut off (502), or missing;
 * anything else is wrong.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { functionImage, writeFile } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { accessToken, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { has } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { root, startStack, temporaryFolder } from '../../harness/processes.ts'
import { callUrl } from '../../harness/services.ts'
import { packRelease } from '../upgrade/installation.ts'
import {
  answers,
  fill,
  type Installed,
  install,
  runtimeProgram,
  settled,
  upgradeArgs,
} from './upgrade-kills.ts'

/** What is called, by its name in the result. */
interface Target {
  readonly name: string
  call(): Promise<{ status: number; text: string }>
  isRight(text: string): boolean
}

export interface Noticed {
  readonly right: number
  /** Refused with 503. */
  readonly busy: number
  /** 502: the runtime stopped while it waited for the answer of the service. */
  readonly cutOff: number
  /** Connections that were refused, or closed without an answer. */
  readonly unanswered: number
  readonly wrong: readonly string[]
  /** Milliseconds without a right answer, for each upgrade. */
  readonly gapsMs: readonly number[]
}

const limits = { callMs: 10_000, perSecond: 50, steadyCalls: 50 }

/** Calls a target at a steady rate, from an open loop: a call that waits delays no other. */
class Caller {
  readonly #target: Target
  readonly #timer: NodeJS.Timeout
  readonly #open = new Set<Promise<void>>()
  #rightAt: number[] = []
  readonly #gaps: number[] = []
  readonly #counts = { right: 0, busy: 0, cutOff: 0, unanswered: 0 }
  readonly #wrong: string[] = []

  constructor(target: Target) {
    this.#target = target
    this.#timer = setInterval(() => this.#begin(), 1000 / limits.perSecond)
  }

  #begin(): void {
    const call = this.#call().finally(() => this.#open.delete(call))
    this.#open.add(call)
  }

  async #call(): Promise<void> {
    try {
      const { status, text } = await this.#target.call()
      if (status === 200 && this.#target.isRight(text)) {
        this.#counts.right++
        this.#rightAt.push(performance.now())
      } else if (status === 503) this.#counts.busy++
      else if (status === 502) this.#counts.cutOff++
      else if (this.#wrong.length < 100)
        this.#wrong.push(`${this.#target.name}: ${status} ${text.slice(0, 300)}`)
    } catch {
      this.#counts.unanswered++
    }
  }

  /** How many right answers there were. */
  get right(): number {
    return this.#counts.right
  }

  /** Ends an upgrade: the longest time without a right answer since the last one is its gap. */
  endUpgrade(): void {
    const times = this.#rightAt.toSorted((a, b) => a - b)
    this.#gaps.push(Math.max(0, ...times.slice(1).map((time, at) => time - times[at]!)))
    this.#rightAt = times.slice(-1)
  }

  async stop(): Promise<Noticed> {
    clearInterval(this.#timer)
    await Promise.all(this.#open)
    return { ...this.#counts, wrong: this.#wrong, gapsMs: this.#gaps }
  }
}

/** The calls of a device with a function and, if this machine can run one, an OCI container. */
async function prepare(installed: Installed, folder: string, podman: Podman | undefined, stack: Stack) {
  const developer = await createDeveloper(stack.state)
  const client = runtimeOf({ runtime: installed })
  const { nodeId } = await answers(installed)
  const token = await accessToken({ identity: stack.identity, runtime: installed }, developer)
  await client.associateAccount({ edgeAccessToken: token })
  const deploy = async (name: string, archive: Buffer) => {
    const source = writeFile(folder, `${name}.tar`, archive)
    const { id: image } = await client.deployImage({ edgeAccessToken: token, source })
    const spec = { name, image, env: {} }
    return (await client.deployContainer({ edgeAccessToken: token, spec })).basePath
  }
  const gateway = (name: string, path: string): Target => ({
    name,
    call: () => withinLimit(callUrl(installed.url + path, { token })),
    isRight: (text) => text.trim() === name,
  })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMe', params: [''] })
  const getMe: Target = {
    name: 'getMe',
    call: () =>
      withinLimit(
        callUrl(`${installed.url}/jsonrpc/v1`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        }),
      ),
    isRight: (text) => JSON.parse(text).result?.nodeId === nodeId,
  }
  const source = 'export default { fetch: () => new Response("function") }'
  const functionPath = await deploy('function', functionImage(source, 'function', 'index.js'))
  const targets = [getMe, gateway('function', functionPath)]
  if (!podman) return targets
  const containerPath = await deploy('container', cgiImage({ name: 'container', script: 'echo container' }))
  return [...targets, gateway('container', `${containerPath}/cgi-bin/run`)]
}

type Stack = Awaited<ReturnType<typeof startStack>>

/** @throws Error for a call without an answer within `callMs` */
async function withinLimit<T>(call: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(() => limit.reject(new Error('no answer in time')), limits.callMs)
  try {
    return await Promise.race([call, limit.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** @param upgrades how many @returns what callers noticed, by the name of what they called */
export async function measureUpgradeGap(
  upgrades: number,
  say: (text: string) => void = () => undefined,
): Promise<Readonly<Record<string, Noticed>>> {
  const folder = await temporaryFolder()
  const stack = await startStack()
  const podman = has(...podmanNeeds, 'busybox') ? await startPodman() : undefined
  // The Deno of a clone is in node_modules.
  symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))
  const installed = await install(stack, folder.path, podman ? { SELVEDGE_OCI_SOCKET: podman.socket } : {})
  try {
    const targets = await prepare(installed, folder.path, podman, stack)
    await settled(installed)
    const callers = targets.map((target) => new Caller(target))
    const steady = async () => {
      for (const each of callers) {
        const before = each.right
        while (each.right < before + limits.steadyCalls) await sleep(20)
      }
    }
    await steady()
    for (let round = 1; round <= upgrades; round++) {
      for (const each of callers) each.endUpgrade()
      await upgradeOnce(installed, folder.path, `1.${round}.0`)
      await steady()
      if (round % 5 === 0) say(`${round} upgrades`)
    }
    for (const each of callers) each.endUpgrade()
    const noticed = await Promise.all(callers.map((each) => each.stop()))
    return Object.fromEntries(
      targets.map(({ name }, at) => {
        const { gapsMs, ...rest } = noticed[at]!
        // The first one is of the time before all upgrades.
        return [name, { ...rest, gapsMs: gapsMs.slice(1) }]
      }),
    )
  } finally {
    await installed.manager.stop('SIGTERM')
    await podman?.stop()
    await stack.stop()
    await folder.remove()
  }
}

/** `selvedge upgrade`, then a restart as systemd does it: SIGTERM, and a start after the exit of the process. */
async function upgradeOnce(installed: Installed, folder: string, version: string): Promise<void> {
  const own = join(folder, `packed-${version}`)
  mkdirSync(own)
  const { archive } = packRelease(own, version, { program: runtimeProgram, fill })
  const env = { PATH: process.env.PATH, SELVEDGE_STATE: installed.state }
  const upgrade = spawn(process.execPath, upgradeArgs(installed, archive), { env, stdio: 'ignore' })
  const [code] = await once(upgrade, 'exit')
  if (code !== 0) throw new Error(`the upgrade to ${version} exited with ${code}`)
  installed.manager.kill('SIGTERM')
  const { current } = await settled(installed)
  if (current !== version) throw new Error(`${current} runs after the upgrade to ${version}`)
  rmSync(own, { recursive: true })
}
