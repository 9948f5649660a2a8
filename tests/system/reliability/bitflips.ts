/**
 * Changes one bit of a state file, or cuts it off, and starts the daemon: it refuses in one sentence, shows a notice, or goes on with
 * what was there before. It is never another node or issuer, and loses nothing without a word.
 */
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identityPaths, rpcPath } from '@selvedge/protocol'
import { type Program, startProgram, temporaryFolder } from '../../harness/processes.ts'
import { startServices } from '../../harness/services.ts'
import { createDaemons } from '../powercut/daemons/index.ts'
import { environment, type Name } from '../powercut/daemons/start.ts'
import { discoverySubject } from './subjects/discovery.ts'
import { identitySubject } from './subjects/identity.ts'
import { runtimeSubject } from './subjects/runtime.ts'

export const damageable = ['runtime', 'identity', 'discovery'] as const

/** Files without state: a lock, the run folder of functions, the index of a database's log, blobs, which are checked at each use. */
const stateless = /(?:^|\/)(?:lock|oci-secret|.*-shm|crashes\.json|admin\.sock)$|\/images\//

export interface Damage {
  /** Rounds by outcome: `refused`, `same`, or the notices that were shown. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly failures: readonly string[]
}

/**
 * @param original what `makeStates` made
 * @param seed of the damage; the same seed damages the same bits
 */
export async function damageFiles(daemon: Name, original: string, rounds: number, seed = 1): Promise<Damage> {
  const folder = await temporaryFolder()
  const before = await look(daemon, await copyOf(original, folder.path, daemon))
  if (!('who' in before)) throw new Error(`it does not start on the state of before: ${before.refusal}`)
  const files = readdirSync(join(original, daemon), { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(original.length + 1))
    .filter((name) => !stateless.test(name) && readFileSync(join(original, name)).length > 0)
  const random = createRandom(seed)
  const outcomes: Record<string, number> = {}
  const failures: string[] = []
  for (let round = 0; round < rounds; round++) {
    const state = await copyOf(original, folder.path, daemon)
    const name = files[random(files.length)]!
    const what = damage(join(state, name), random)
    const { outcome, problems } = judge(before, await look(daemon, state))
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    failures.push(...problems.map((each) => `round ${round}, ${name}, ${what}: ${each}`))
  }
  await folder.remove()
  return { outcomes, failures }
}

/** The state of each daemon after it has worked and was killed, in a folder of its name. @param target does not exist yet */
export async function makeStates(target: string): Promise<void> {
  const services = await startServices()
  const { stack } = services
  const subjects = [
    await runtimeSubject(services),
    await identitySubject(stack, {}),
    await discoverySubject(stack, {}),
  ]
  for (let pass = 1; pass <= 3; pass++) for (const each of subjects) await each.work(pass)
  // No daemon was started again meanwhile: they are those that the stack started.
  for (const each of damageable) await stack[each].stop('SIGKILL')
  for (const each of damageable)
    cpSync(join(stack.state, each), join(target, each), { recursive: true, preserveTimestamps: true })
  await services.stop()
}

/** The state folder of a copy. */
async function copyOf(original: string, folder: string, daemon: Name): Promise<string> {
  const state = join(folder, 'state')
  rmSync(state, { recursive: true, force: true })
  cpSync(join(original, daemon), join(state, daemon), { recursive: true, preserveTimestamps: true })
  for (const each of [state, join(state, daemon)]) chmodSync(each, 0o700)
  return state
}

interface Seen {
  /** Who the daemon is, as others see it. */
  readonly who: string
  readonly notices: readonly string[]
  /** What it stores, by name: each value as text. */
  readonly facts: ReadonlyMap<string, string>
}

/** Starts a daemon on a state, asks it, kills it, and reads what it stores. */
async function look(daemon: Name, state: string): Promise<Seen | { readonly refusal: string }> {
  let program: Program
  try {
    program = await startProgram(daemon, await environment(daemon, state))
  } catch (cause) {
    return { refusal: (cause as Error).message }
  }
  const { who, notices } = await ask(daemon, program.url).finally(() => program.stop('SIGKILL'))
  try {
    return { who, notices, facts: await readFacts(daemon, join(state, '..')) }
  } catch (cause) {
    // The runtime opens what functions store when one of them needs it.
    if ((cause as { code?: string }).code !== 'DAMAGED' || daemon !== 'runtime') throw cause
    return { refusal: `error: runtime did not start: ${(cause as Error).message}` }
  }
}

async function ask(daemon: Name, url: string): Promise<{ who: string; notices: string[] }> {
  if (daemon === 'discovery') return { who: String((await fetch(`${url}/healthz`)).status), notices: [] }
  if (daemon === 'identity') return { who: await (await fetch(url + identityPaths.jwks)).text(), notices: [] }
  const response = await fetch(url + rpcPath, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMe' }),
  })
  const { result } = (await response.json()) as { result: { nodeId: string; notices: { reason: string }[] } }
  return { who: result.nodeId, notices: result.notices.map(({ reason }) => reason) }
}

/** What a start changes by itself. */
const volatile = new Set(['timeFloor', 'history', 'link'])

/** Members of documents by their name, and rows of databases by table: their number, since a value has no checksum. */
async function readFacts(daemon: Name, folder: string): Promise<Map<string, string>> {
  const facts = new Map<string, string>()
  for (const { name, read } of createDaemons(1)[daemon].parts) {
    if (name === 'images') continue
    const { facts: found } = await read(folder)
    for (const [key, value] of Object.entries(flat(name, found)))
      if (!volatile.has(key))
        facts.set(`${name} ${key}`, Array.isArray(value) ? `${value.length} rows` : JSON.stringify(value))
  }
  return facts
}

const flat = (part: string, facts: unknown): Record<string, unknown> =>
  part === 'state' ? (facts as { value: Record<string, unknown> }).value : (facts as Record<string, unknown>)

function judge(
  before: Seen,
  now: Awaited<ReturnType<typeof look>>,
): { outcome: string; problems: readonly string[] } {
  if ('refusal' in now) {
    // One sentence that names what is wrong, and no stack.
    const isPlain = /error: \w+ did not start: [^\n]+\n?$/.test(now.refusal) && !/\n {4}at /.test(now.refusal)
    return { outcome: 'refused', problems: isPlain ? [] : [now.refusal] }
  }
  if (now.who !== before.who) return { outcome: 'another identity', problems: ['another identity'] }
  if (now.notices.length > 0) return { outcome: now.notices.join(' '), problems: [] }
  const changed = [...before.facts].filter(([name, value]) => now.facts.get(name) !== value)
  if (changed.length === 0) return { outcome: 'same', problems: [] }
  const shown = changed.map(
    ([name, value]) => `${name} was ${value.slice(0, 60)}, is ${now.facts.get(name)?.slice(0, 60)}`,
  )
  return { outcome: 'changed', problems: [`it changed without a notice: ${shown.join('; ')}`] }
}

function damage(path: string, random: (limit: number) => number): string {
  const content = readFileSync(path)
  if (random(4) === 0) {
    const length = random(content.length)
    truncateSync(path, length)
    return `cut off at ${length} of ${content.length}`
  }
  const bit = random(content.length * 8)
  content[bit >> 3]! ^= 1 << (bit & 7)
  writeFileSync(path, content)
  return `bit ${bit}`
}

function createRandom(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}
