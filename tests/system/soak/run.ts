/**
 * `npm run soak [minutes]`: hostile functions, callers, uploads and packets, all at once, against a whole built stack in a state
 * folder of its own, beside legitimate callers. Prints restarts, memory with its slope, what the legitimate callers got as a share of
 * what they get alone, errors and notices. Exit code 1 where a daemon ended, its memory grows, or nobody was served.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { canMakeNetworks, makeNetworks } from '../../harness/networks.ts'
import { sendRaw } from '../../harness/raw-udp.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { dns } from '../fuzz/targets/dns.ts'
import { goodFunction, hostileFunctions, hostileSettings, pouringFunction } from './functions.ts'
import { residentMb, slopeOf } from './memory.ts'
import type { Counts, Plan } from './plan.ts'

/** MB a minute that the memory of a daemon may grow by, in the last two thirds of the time. */
const maxSlope = 2
const sampleMs = 10_000
/** Milliseconds in which a daemon has collected its garbage: what is measured then is what stays. */
const collectMs = 500
/** Milliseconds in which a daemon answers, or ends, that works at all. */
const timeoutMs = 15_000
/** Seconds at full speed in every period. */
const windowSeconds = 5
const periodSeconds = 20

const [, , length = '10', lan] = process.argv
const minutes = Number(length)
if (!(minutes > 0)) {
  process.stderr.write(`error: ${JSON.stringify(length)} is not a number of minutes\n`)
  process.exit(2)
}
const say = (text: string) => process.stdout.write(`${text}\n`)
const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const run = (name: string, ...args: string[]) =>
  spawn(process.execPath, ['--conditions=source', pathOf(name), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

/** With networks of its own, a neighbour sends packets; without, that part is left out. */
async function inNetworks(): Promise<void> {
  const [question = Buffer.alloc(0)] = await dns.seeds()
  const networks = makeNetworks({ device: { lan: '10.87.0.1' }, stranger: { lan: '10.87.0.2' } })
  const within = (host: string, ...args: string[]) =>
    spawn('ip', ['netns', 'exec', networks.spaceOf(host), process.execPath, '--conditions=source', ...args], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  let packets: ChildProcess | undefined
  let fromNowhere: ChildProcess | undefined
  try {
    const soak = within('device', pathOf('run.ts'), length, 'lan')
    soak.on('message', (message: { attack: boolean }) => {
      if (!message.attack) {
        fromNowhere?.kill()
        return void packets?.kill()
      }
      // Port 0 cannot be answered; only a raw socket sends from it.
      fromNowhere = sendRaw(
        networks.spaceOf('stranger'),
        '10.87.0.2',
        [{ source: '10.87.0.2', sourcePort: 0, payload: question }],
        { perSecond: 5, rounds: minutes * 300 },
      )
      packets = within('stranger', pathOf('packets.ts'), '10.87.0.2')
      packets.on('message', (counts) => soak.connected && soak.send(counts as object))
    })
    const interrupt = () => void soak.kill()
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
    const [code] = (await once(soak, 'exit')) as [number | null]
    process.exitCode = code ?? 1
  } finally {
    packets?.kill()
    fromNowhere?.kill()
    networks.remove()
  }
}

const total: Counts = {}
const add = (counts: Counts) => {
  for (const [name, value] of Object.entries(counts)) total[name] = (total[name] ?? 0) + value
}

/** Legitimate callers at full speed for a while. @returns answers a second by kind */
async function speedOf(callers: ChildProcess, kinds: readonly string[]): Promise<number[]> {
  const before = kinds.map((kind) => total[`${kind} ok window`] ?? 0)
  callers.send({ window: true })
  await sleep(windowSeconds * 1000)
  callers.send({ window: false })
  // The last counts are sent within a second.
  await sleep(1200)
  return kinds.map((kind, at) => ((total[`${kind} ok window`] ?? 0) - before[at]!) / windowSeconds)
}

async function prepare(services: Services): Promise<Plan> {
  const good = await services.deploy('good', goodFunction, { 'MCM.IDLE_SEC': '0' })
  const pouring = await services.deploy('pouring', pouringFunction, { 'MCM.IDLE_SEC': '0' })
  const hostile: { id: string; basePath: string }[] = []
  for (const { name, source, env } of hostileFunctions)
    hostile.push(await services.deploy(name, source, { ...hostileSettings, ...env }))
  return {
    runtime: services.url(),
    identity: services.stack.identity.url,
    discovery: services.stack.discovery.url,
    token: services.token,
    clientId: services.developer.clientId,
    developerToken: services.developer.idToken,
    goodPath: good.basePath,
    image: good.imageId,
    pouringPath: pouring.basePath,
    hostilePaths: hostile.map(({ basePath }) => basePath),
    loud: hostile.map(({ id }) => id),
  }
}

const kinds = ['getMe', 'updateGps', 'gateway'] as const

async function soak(): Promise<boolean> {
  const services = await startServices({
    // The callers' token lasts longer than the soak.
    identity: [`--lifetime.access=${Math.ceil(minutes) * 60 + 3600}`],
    env: {
      NODE_OPTIONS: `--expose-gc --require=${pathOf('collect-garbage.cjs')}`,
      ...(lan !== undefined && { SELVEDGE_LINK_LOCAL: 'true' }),
    },
  })
  const { runtime, identity, discovery } = services.stack
  const daemons = { runtime, identity, discovery }
  const children: ChildProcess[] = []
  const interrupt = () => {
    for (const child of children) child.kill()
    for (const { process: child } of Object.values(daemons)) child.kill('SIGKILL')
    process.exit(1)
  }
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt).once('disconnect', interrupt)
  try {
    const plan = await prepare(services)
    const callers = run('callers.ts', JSON.stringify(plan))
    children.push(callers)
    callers.on('message', add)
    await sleep(3000)
    const alone: number[][] = []
    for (let at = 0; at < 3; at++) alone.push(await speedOf(callers, kinds))
    say(`alone: ${kinds.map((kind, at) => `${kind} ${middle(alone, at).toFixed(0)}/s`).join(', ')}`)
    for (const name of Object.keys(total)) delete total[name]

    const attackers = run('attackers.ts', JSON.stringify(plan))
    children.push(attackers)
    attackers.on('message', add)
    process.on('message', add)
    process.send?.({ attack: true })
    const begin = performance.now()
    const minute = () => (performance.now() - begin) / 60_000
    const memory = Object.entries(daemons).map(([name, { process: child }]) => ({
      name,
      pid: child.pid!,
      points: [] as { x: number; y: number }[],
    }))
    const sampling = setInterval(() => {
      for (const { process: child } of Object.values(daemons)) child.kill('SIGUSR2')
      setTimeout(() => {
        for (const { pid, points } of memory) {
          const y = residentMb(pid)
          if (y !== undefined) points.push({ x: minute(), y })
        }
      }, collectMs)
    }, sampleMs)
    const windows: number[][] = []
    while (minute() < minutes) {
      await sleep((periodSeconds - windowSeconds) * 1000)
      windows.push(await speedOf(callers, kinds))
      const shown = memory.map(({ name, points }) => `${name} ${points.at(-1)?.y.toFixed(0)} MB`)
      say(
        `minute ${minute().toFixed(1)}: ${shown.join(', ')}; ${kinds.map((kind, at) => `${kind} ${windows.at(-1)![at]!.toFixed(0)}/s`).join(', ')}`,
      )
    }
    clearInterval(sampling)
    process.send?.({ attack: false })
    attackers.kill()
    // Before and after: another program on this machine may have disturbed one of them.
    await sleep(timeoutMs)
    const served = { ...total }
    for (let at = 0; at < 3; at++) alone.push(await speedOf(callers, kinds))

    const me = await Promise.race([
      services
        .runtime()
        .getMe()
        .catch(() => undefined),
      sleep(timeoutMs),
    ])
    return report({
      daemons,
      memory,
      alone,
      windows,
      served,
      notices: me === undefined ? 'no answer' : me.notices,
    })
  } finally {
    for (const child of children) child.kill()
    await stopAll(services)
  }
}

/** Stops everything; a daemon that does not end, since it is frozen, is killed. */
async function stopAll(services: Services): Promise<void> {
  const { runtime, identity, discovery } = services.stack
  const kill = setTimeout(() => {
    for (const { process: child } of [runtime, identity, discovery])
      if (child.exitCode === null) child.kill('SIGKILL')
  }, timeoutMs)
  await services.stop()
  clearTimeout(kill)
}

const middle = (rows: readonly number[][], at: number): number => {
  const sorted = rows.map((row) => row[at]!).sort((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

interface Results {
  readonly daemons: Readonly<Record<string, { process: ChildProcess; errors(): string }>>
  readonly memory: readonly { name: string; points: { x: number; y: number }[] }[]
  readonly alone: readonly number[][]
  readonly windows: readonly number[][]
  /** Outcomes with their counts. */
  readonly served: Counts
  readonly notices: unknown
}

/** @returns whether all is well */
function report({ daemons, memory, alone, windows, served, notices }: Results): boolean {
  const failures: string[] = []
  for (const [name, { process: child, errors }] of Object.entries(daemons)) {
    const isUp = child.exitCode === null && child.signalCode === null
    if (!isUp) failures.push(`${name} ended (${child.exitCode ?? child.signalCode})`)
    const caught = errors()
      .split('\n')
      .filter((line) => line.includes('"level":"error"'))
    say(
      `${name}: ${isUp ? `0 restarts, process ${child.pid} unchanged` : 'ENDED'}; ${caught.length} lines of errors in its log`,
    )
    for (const line of new Set(
      caught.map((each) => each.replaceAll(/"(time|id)":"[^"]*",?/g, '').slice(0, 200)).slice(0, 5),
    ))
      say(`  ${line}`)
  }
  for (const { name, points } of memory) {
    const { slope, error } = slopeOf(points.slice(Math.floor(points.length / 3)))
    const values = points.map(({ y }) => y)
    say(
      `memory of ${name}: ${values[0]?.toFixed(0)} MB at first, ${Math.max(...values).toFixed(0)} at most, ${values.at(-1)?.toFixed(0)} at last; slope ${slope.toFixed(2)} ± ${error.toFixed(2)} MB a minute over the last two thirds`,
    )
    if (slope - 2 * error > maxSlope)
      failures.push(`the memory of ${name} grows by ${slope.toFixed(2)} MB a minute`)
  }
  for (const [at, kind] of kinds.entries()) {
    const [own, capacity] = [middle(windows, at), Math.max(...alone.map((each) => each[at]!))]
    const least = Math.min(...windows.map((each) => each[at]!))
    say(
      `${kind}: ${own.toFixed(0)}/s in the soak, ${capacity.toFixed(0)}/s alone: ${((100 * own) / capacity).toFixed(0)} % of the capacity (least ${((100 * least) / capacity).toFixed(0)} %)`,
    )
    if (own === 0) failures.push(`${kind} was not served`)
  }
  if (!((served['exchange ok'] ?? 0) > 0)) failures.push('no token was exchanged')
  say('every outcome, with its count:')
  for (const [name, value] of Object.entries(served).sort())
    if (value > 0) say(`  ${String(value).padStart(8)} ${name}`)
  say(`notices: ${JSON.stringify(notices ?? [])}`)
  for (const each of failures) say(`FAILED: ${each}`)
  if (failures.length === 0) say('nothing restarted, and memory is flat')
  return failures.length === 0
}

if (lan === undefined && process.getuid?.() === 0 && canMakeNetworks()) await inNetworks()
else {
  if (lan === undefined) say('without packets: they need root and ip')
  process.exit((await soak()) ? 0 : 1)
}
