/**
 * Daemons, their database and their Redis are killed, frozen and cut off while callers count, move, deploy, redeploy, and make and revoke tokens.
 * Whatever was acknowledged is there when they run again.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  findPostgres,
  findRedis,
  type PostgresServer,
  type RedisCluster,
  startPostgres,
  startRedisCluster,
} from '@selvedge/service-kit/testing'
import { type FreezingProxy, startFreezingProxy } from '../../harness/freezing-proxy.ts'
import { createChance, testSeed } from '../../harness/seed.ts'
import { startServices } from '../../harness/services.ts'
import { discoverySubject } from './subjects/discovery.ts'
import { identitySubject } from './subjects/identity.ts'
import { runtimeSubject } from './subjects/runtime.ts'
import type { Step, Subject } from './subjects/subject.ts'

export interface KillOptions {
  readonly rounds: number
  /** Milliseconds for which something is frozen, each time or by turns. */
  readonly freezesMs: readonly number[]
  /** Steps of the load before something happens: up to so many. */
  readonly spread: number
  readonly seed?: number
  readonly say?: (text: string) => void
}

export interface Killed {
  /** Rounds by what happened in them. */
  readonly rounds: Readonly<Record<string, number>>
  readonly acknowledged: number
  readonly refused: number
  readonly failures: readonly string[]
}

interface World {
  /** What can happen to it. */
  readonly blows: Readonly<Record<string, (freezeMs: number) => Promise<void>>>
  readonly subjects: readonly Subject[]
  /** Asked all the time, beside the work of the subjects. */
  readonly callers: readonly (() => Promise<Step>)[]
  stop(): Promise<void>
}

/** Attempts until all works again, a quarter of a second apart. */
const attempts = 160

export async function killUnderLoad({
  rounds,
  freezesMs,
  spread,
  seed = testSeed,
  say,
}: KillOptions): Promise<Killed> {
  const world = await makeWorld()
  const random = createChance(seed)
  const counts: Record<string, number> = {}
  const failures: string[] = []
  const totals: Totals = { acknowledged: 0, refused: 0 }
  const names = Object.keys(world.blows)
  try {
    for (let round = 1; round <= rounds; round++) {
      const name = names[(round - 1) % names.length]!
      counts[name] = (counts[name] ?? 0) + 1
      const endLoad = beginLoad(world, round, totals)
      await stepsMade(totals, random() * spread)
      // Each kind of freeze lasts as long as the next of the times.
      await world.blows[name]!(freezesMs[(counts[name] - 1) % freezesMs.length]!)
      await endLoad()
      const found = [...(await recover(world, round)), ...(await missingIn(world))]
      failures.push(...found.map((each) => `round ${round}, ${name}: ${each}`))
      for (const each of found) say?.(`round ${round}, ${name}: ${each}`)
      if (round % names.length === 0) say?.(`${round} rounds: ${JSON.stringify(totals)}`)
    }
  } finally {
    await world.stop()
  }
  return { rounds: counts, ...totals, failures }
}

interface Totals {
  acknowledged: number
  refused: number
}

/** Resolves when the load has made so many more steps. */
async function stepsMade(totals: Totals, count: number): Promise<void> {
  const made = () => totals.acknowledged + totals.refused
  const from = made()
  while (made() < from + count) await sleep(2)
}

/** Gives the function that ends it, once what is under way is answered. */
function beginLoad({ subjects, callers }: World, round: number, totals: Totals): () => Promise<void> {
  let isOver = false
  const keepOn = async (ask: () => Promise<readonly Step[]>) => {
    while (!isOver) {
      const steps = await ask()
      const refused = steps.filter((step) => step.refused !== undefined).length
      totals.refused += refused
      totals.acknowledged += steps.length - refused
      if (refused > 0) await sleep(20)
    }
  }
  let pass = 0
  const loops = [
    ...subjects.map((subject) => keepOn(() => subject.work(round * 1000 + pass++))),
    ...callers.map((call) => keepOn(async () => [await call()])),
  ]
  return async () => {
    isOver = true
    await Promise.all(loops)
  }
}

async function recover({ subjects }: World, round: number): Promise<string[]> {
  let refused: Step[] = []
  for (let attempt = 0; attempt < attempts; attempt++) {
    const steps: Step[] = []
    for (const subject of subjects) steps.push(...(await subject.work(round * 1000 + 900 + (attempt % 90))))
    refused = steps.filter((step) => step.refused !== undefined)
    if (refused.length === 0) return []
    await sleep(250)
  }
  return refused.map(({ what, refused }) => `${what} is refused permanently: ${refused}`)
}

const missingIn = async ({ subjects }: World): Promise<string[]> =>
  (await Promise.all(subjects.map((subject) => subject.missing()))).flat()

interface Database {
  readonly postgres: PostgresServer
  readonly proxy: FreezingProxy
  readonly env: Readonly<Record<string, string>>
}

/** Where PostgreSQL is installed, the identity service keeps its state there, behind a proxy that can freeze. */
async function makeDatabase(): Promise<Database | undefined> {
  if (!findPostgres()) return undefined
  const postgres = await startPostgres()
  const url = new URL(await postgres.createDatabase())
  const proxy = await startFreezingProxy(Number(url.port))
  url.port = String(proxy.port)
  const keys = randomBytes(32).toString('base64url')
  return { postgres, proxy, env: { SELVEDGE_IDENTITY_STORE: url.href, SELVEDGE_IDENTITY_KEYS: keys } }
}

interface Locations {
  readonly redis: RedisCluster
  readonly proxy: FreezingProxy
  /** Of the discovery service. */
  readonly args: readonly string[]
}

/** Where Redis is installed, discovery keeps the last locations there, behind a proxy that can freeze. */
async function makeLocations(): Promise<Locations | undefined> {
  if (!findRedis()) return undefined
  let proxy: FreezingProxy | undefined
  const redis = await startRedisCluster(1, 0, async (port) => {
    proxy = await startFreezingProxy(port)
    return proxy.port
  })
  return { redis, proxy: proxy!, args: [`--cluster=redis://127.0.0.1:${proxy!.port}`] }
}

async function makeWorld(): Promise<World> {
  const database = await makeDatabase()
  const locations = await makeLocations()
  const env = { ...database?.env }
  const services = await startServices({ env, discovery: locations?.args ?? [] })
  const { stack } = services
  const runtime = await runtimeSubject(services)
  const shared = { ...env, SELVEDGE_STATE: stack.state }
  const identity = await identitySubject(stack, { ...shared, SELVEDGE_DISCOVERY_URL: stack.discovery.url })
  const discovery = await discoverySubject(stack, shared, {
    args: locations?.args ?? [],
    keepsLast: locations !== undefined,
  })
  const freezeOf = (pid: () => number) => (milliseconds: number) => {
    const frozen = pid()
    const send = (signal: NodeJS.Signals) => () => void process.kill(frozen, signal)
    return freeze({ freeze: send('SIGSTOP'), thaw: send('SIGCONT') }, milliseconds)
  }
  return {
    subjects: [runtime, identity, discovery],
    callers: [runtime.increment, runtime.increment],
    blows: {
      'kill of the runtime': runtime.restart,
      'kill of identity': identity.restart,
      'kill of discovery': discovery.restart,
      'kill of the stack': async () =>
        void (await Promise.all([runtime.restart(), identity.restart(), discovery.restart()])),
      'freeze of the runtime': freezeOf(services.runtimePid),
      'freeze of identity': freezeOf(identity.pid),
      'freeze of discovery': freezeOf(discovery.pid),
      ...(database && blowsOfPostgres(database)),
      ...(locations && blowsOfRedis(locations)),
    },
    async stop() {
      await identity.stop()
      await discovery.stop()
      await services.stop()
      database?.proxy.stop()
      await database?.postgres.stop()
      locations?.proxy.stop()
      await locations?.redis.stop()
    },
  }
}

const blowsOfPostgres = ({ postgres, proxy }: Database): World['blows'] => ({
  'kill of PostgreSQL': () => postgres.restart('SIGKILL'),
  'restart of PostgreSQL': () => postgres.restart('SIGINT'),
  'freeze of PostgreSQL': (milliseconds) => freeze(postgres, milliseconds),
  'cut from PostgreSQL': (milliseconds) => freeze(proxy, milliseconds),
})

function blowsOfRedis({ redis, proxy }: Locations): World['blows'] {
  const port = redis.ports[0]!
  const restart = (signal: 'SIGKILL' | 'SIGTERM') => {
    redis.kill(port, signal)
    return redis.revive(port)
  }
  const server = { freeze: () => redis.freeze(port), thaw: () => redis.thaw(port) }
  return {
    'kill of Redis': () => restart('SIGKILL'),
    'restart of Redis': () => restart('SIGTERM'),
    'freeze of Redis': (milliseconds) => freeze(server, milliseconds),
    'cut from Redis': (milliseconds) => freeze(proxy, milliseconds),
  }
}

async function freeze(what: { freeze(): void; thaw(): void }, milliseconds: number): Promise<void> {
  what.freeze()
  await sleep(milliseconds)
  what.thaw()
}
