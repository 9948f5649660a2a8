/**
 * `npm run overload [words of a row]`: each daemon alone, at its capacity and at twice its capacity from an open loop by turns, then
 * idle again. The capacity of a shared machine changes by a third from one second to the next: each turn is compared with the
 * turns at the capacity right before and after it, and the median counts. Each row is measured in three runs, and the worst one is shown.
 *
 * Prints a table in Markdown. With two cores, the daemon runs on the first and the load generator on the second.
 * Exit code 1 if a row misses one of its limits.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Services } from '../../harness/services.ts'
import type { Plan, Result } from './load.ts'
import { start, type Workload, workloads, writeRequests } from './workloads.ts'

/** What a row must reach: goodput as a part of capacity, p99 and memory as multiples of those without load. */
const limits = { goodput: 0.9, p99: 10, memory: 1.2 }
/** A daemon that answers more than this multiple of its capacity was not at its limit: its row is not valid. */
const unsaturated = 1.5
/** Connections of the closed loops that measure the capacity; the best one is used. What is stored in batches needs many. */
const loops = [8, 32, 128]
/** Turns at twice the capacity. */
const turns = Number(process.env.SELVEDGE_OVERLOAD_TURNS ?? 5)
const runs = Number(process.env.SELVEDGE_OVERLOAD_RUNS ?? 3)
const seconds = Number(process.env.SELVEDGE_OVERLOAD_SECONDS ?? 4)
const idleSeconds = Number(process.env.SELVEDGE_OVERLOAD_IDLE_SECONDS ?? 60)
const vitalEveryMs = 50
/** Seconds of each load that are not measured. */
const warmUpSeconds = 2
/** Clients that may wait for an answer at the same time; a request for which there is none is not sent. */
const maxConnections = Number(process.env.SELVEDGE_OVERLOAD_CONNECTIONS ?? 512)

const generator = fileURLToPath(new URL('load.ts', import.meta.url))
const say = (text: string) => process.stdout.write(`${text}\n`)

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

/** Holds a process and what it started on the first core. */
function pin(pid: number): void {
  execFileSync('taskset', ['-a', '-cp', '0', String(pid)], { stdio: 'ignore' })
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
    for (const child of children.split(' ').filter(Boolean)) pin(Number(child))
  }
}

async function load(plan: Plan): Promise<Result> {
  const { stdout } = await promisify(execFile)('taskset', [
    '-c',
    '1',
    process.execPath,
    generator,
    JSON.stringify(plan),
  ])
  return JSON.parse(stdout) as Result
}

const perSecond = ({ good }: Result): number => good / seconds

interface Spread {
  readonly median: number
  readonly least: number
  readonly greatest: number
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other)
  return { median: sorted[sorted.length >> 1]!, least: sorted[0]!, greatest: sorted.at(-1)! }
}

interface Vital {
  readonly p99: number
  readonly failed: number
}

/** Sends the vital request again and again on one connection, each after the one before. What it takes counts after the warm-up. */
function probe(vital: () => Promise<boolean>): () => Vital {
  const latencies: number[] = []
  let failed = 0
  let isOver = false
  const start = performance.now()
  const run = async () => {
    while (!isOver) {
      const before = performance.now()
      const isAnswered = await vital().catch(() => false)
      if (!isAnswered) failed++
      else if (before - start >= warmUpSeconds * 1000) latencies.push(performance.now() - before)
      await sleep(vitalEveryMs)
    }
  }
  void run()
  return () => {
    isOver = true
    latencies.sort((one, other) => one - other)
    return { p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN, failed }
  }
}

/** One load after the other on a daemon of its own core. */
async function loadsOn({ name, program, requests }: Workload, services: Services, folder: string) {
  const texts = await requests(services)
  const { url, process: daemon } = program(services)
  const pid = daemon.pid!
  try {
    pin(pid)
  } catch {
    process.stderr.write(`${name}: the daemon shares its core: there is no taskset, or only one core\n`)
  }
  const run = (rate: number, connections: number): Promise<Result> =>
    load({
      host: '127.0.0.1',
      port: Number(new URL(url).port),
      requests: writeRequests(folder, texts()),
      rate,
      warmUpSeconds,
      seconds,
      connections,
      timeoutMs: 20_000,
    })
  return { pid, run }
}

type Run = (rate: number, connections: number) => Promise<Result>

/** @returns the connections at which the capacity is highest, and the answers at a tenth of it */
async function warmUp(run: Run) {
  const closed: [connections: number, result: Result][] = []
  for (const connections of loops) closed.push([connections, await run(0, connections)])
  const [connections, best] = closed.reduce((one, other) => (other[1].good > one[1].good ? other : one))
  return { connections, unloaded: await run(perSecond(best) / 10, 64) }
}

/** The turns at twice the capacity, each compared with the mean of the capacities before and after it. */
async function takeTurns(run: Run, connections: number, vital: () => Promise<boolean>) {
  const taken: { capacity: number; goodput: number; p50: number; p99: number; vital: Vital }[] = []
  let before = perSecond(await run(0, connections))
  while (taken.length < turns) {
    const endProbe = probe(vital)
    const twice = await run(before * 2, maxConnections)
    const answered = endProbe()
    const after = perSecond(await run(0, connections))
    const capacity = (before + after) / 2
    const { p50, p99 } = twice
    taken.push({ capacity, goodput: perSecond(twice) / capacity, p50, p99, vital: answered })
    before = after
  }
  return taken
}

interface Row {
  /** Median goodput as a part of the capacity: the run with the least one is the worst. */
  readonly goodput: number
  readonly isReached: boolean
  readonly isSaturated: boolean
  readonly cells: readonly string[]
  /** Megabytes, before the turns and after them. */
  readonly idle: number
  readonly peak: number
}

const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`
const percent = (value: number) => (value * 100).toFixed(0)

async function measure(
  { name, vital }: Workload,
  services: Services,
  { pid, run }: { pid: number; run: Run },
): Promise<Row> {
  const { connections, unloaded } = await warmUp(run)
  const idle = residentMb(pid)
  const taken = await takeTurns(run, connections, () => vital(services))
  const peak = residentMb(pid)
  const capacity = spreadOf(taken.map((each) => each.capacity))
  const goodput = spreadOf(taken.map((each) => each.goodput))
  const p99 = spreadOf(taken.map((each) => each.p99))
  const failed = taken.reduce((sum, each) => sum + each.vital.failed, 0)
  const isSaturated = goodput.median < unsaturated
  const isReached =
    isSaturated && goodput.median >= limits.goodput && p99.median <= limits.p99 * unloaded.p99 && failed === 0
  const cells = [
    name,
    `${Math.round(capacity.median)}/s`,
    `${percent(goodput.median)} % (${percent(goodput.least)} to ${percent(goodput.greatest)} %)`,
    ms(unloaded.p99),
    ms(spreadOf(taken.map((each) => each.p50)).median),
    ms(p99.median),
    (p99.median / unloaded.p99).toFixed(1),
    `${ms(spreadOf(taken.map((each) => each.vital.p99)).median)}, ${failed} failed`,
  ]
  return { goodput: goodput.median, isReached, isSaturated, cells, idle, peak }
}

/** A run that misses a limit is worse than one that reaches all; of those, the one with the least goodput is the worst. */
const isWorse = (one: Row, other: Row): boolean =>
  one.isReached === other.isReached ? one.goodput < other.goodput : !one.isReached

/** Measures a row several times, and the memory a minute after the last one. @returns the cells of the worst run */
async function measureOften(workload: Workload, services: Services, folder: string) {
  const loads = await loadsOn(workload, services, folder)
  const rows = [await measure(workload, services, loads)]
  while (rows.length < runs) rows.push(await measure(workload, services, loads))
  const worst = rows.reduce((one, other) => (isWorse(other, one) ? other : one))
  const { idle } = rows[0]!
  const peak = Math.max(...rows.map((each) => each.peak))
  await sleep(idleSeconds * 1000)
  const later = residentMb(loads.pid)
  const isReached = worst.isReached && later <= limits.memory * idle
  const verdict = worst.isSaturated ? (isReached ? 'yes' : 'no') : 'not at its limit'
  const memory = `${idle.toFixed(0)}, ${peak.toFixed(0)}, ${later.toFixed(0)} MB`
  return { cells: [...worst.cells, memory, verdict], isReached }
}

const wanted = process.argv.slice(2).join(' ')
const folder = mkdtempSync(join(tmpdir(), 'selvedge-overload-'))
const services = await start()
try {
  say(
    `Worst of ${runs} runs, each the medians of ${turns} turns of ${seconds} s at twice the capacity; latency from the planned time of a request. ` +
      `${cpus().length} × ${cpus()[0]!.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node.js ${process.version}.\n\n` +
      '| Row | Capacity | Goodput | p99 unloaded | p50 | p99 | Ratio of p99 | Vital p99 | Memory idle, loaded, a minute later | Reached |\n' +
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
  )
  for (const workload of workloads) {
    if (!workload.name.includes(wanted)) continue
    const { cells, isReached } = await measureOften(workload, services, folder)
    say(`| ${cells.join(' | ')} |`)
    if (!isReached) process.exitCode = 1
  }
} finally {
  await services.stop()
  rmSync(folder, { recursive: true, force: true })
}
