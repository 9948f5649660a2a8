/** Changes one bit of a state file, or cuts it off, and starts the daemon: it refuses, says what it lost, or is as before. */
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts, type Program, startProgram, temporaryFolder } from '../harness/processes.ts'

export const damageable = ['runtime', 'identity', 'discovery'] as const
type Daemon = (typeof damageable)[number]

/** Files without state: a lock, the run folder of functions, the index of a database's log. */
const stateless = /(?:^|\/)(?:lock|oci-secret|.*-shm|crashes\.json)$/

/** Who the daemon is, as others see it, and the notices that it shows. */
async function seen(daemon: Daemon, { url }: Program): Promise<{ who: string; notices: string[] }> {
  if (daemon === 'discovery') return { who: String((await fetch(`${url}/healthz`)).status), notices: [] }
  if (daemon === 'identity') {
    const response = await fetch(`${url}/.well-known/jwks.json`)
    return { who: await response.text(), notices: [] }
  }
  const response = await fetch(`${url}/jsonrpc/v1`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMe' }),
  })
  const { result } = (await response.json()) as { result: { nodeId: string; notices: { reason: string }[] } }
  return { who: result.nodeId, notices: result.notices.map(({ reason }) => reason) }
}

export interface Damage {
  /** Rounds by outcome: `refused`, `same`, or the notices that were shown. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly failures: readonly string[]
}

/** @param seed of the damage; the same seed damages the same bits */
export async function damageFiles(daemon: Daemon, rounds: number, seed = 1): Promise<Damage> {
  const folder = await temporaryFolder()
  const away = 'http://127.0.0.1:9'
  const envOf = (state: string) => ({
    ...freePorts,
    SELVEDGE_STATE: state,
    SELVEDGE_IDENTITY_URL: away,
    SELVEDGE_DISCOVERY_URL: away,
  })
  const original = join(folder.path, 'original')
  const first = await startProgram(daemon, envOf(original))
  const { who } = await seen(daemon, first)
  await first.stop('SIGKILL')
  const files = readdirSync(join(original, daemon), { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(original.length + 1))
    .filter((name) => !stateless.test(name) && readFileSync(join(original, name)).length > 0)
  const random = createRandom(seed)
  const outcomes: Record<string, number> = {}
  const failures: string[] = []
  for (let round = 0; round < rounds; round++) {
    const state = join(folder.path, 'state')
    rmSync(state, { recursive: true, force: true })
    cpSync(original, state, { recursive: true, preserveTimestamps: true })
    chmodSync(state, 0o700)
    chmodSync(join(state, daemon), 0o700)
    const name = files[random(files.length)]!
    const what = damage(join(state, name), random)
    const outcome = await startProgram(daemon, envOf(state)).then(
      async (program) => {
        const now = await seen(daemon, program)
        await program.stop('SIGKILL')
        if (now.who !== who) failures.push(`round ${round}, ${name}, ${what}: another identity`)
        return now.notices.join(' ') || 'same'
      },
      (cause: Error) => {
        // One sentence that names what is wrong, and no stack.
        if (!/error: \w+ did not start: [^\n]+\n?$/.test(cause.message) || /\n {4}at /.test(cause.message))
          failures.push(`round ${round}, ${name}, ${what}: ${cause.message}`)
        return 'refused'
      },
    )
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
  await folder.remove()
  return { outcomes, failures }
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
