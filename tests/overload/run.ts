/**
 * `npm run overload [words of a row]`: each daemon alone at its capacity, then at twice of it from an open loop, then idle again.
 * Prints a table in Markdown. The daemon is held on the first core and the load generator on the second, where there are two.
 * Exit code 1 where a row misses one of its limits.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cpuOf } from '../../bench/cpu.ts'
import type { Services } from '../harness/services.ts'
import type { Plan, Result } from './load.ts'
import { start, type Workload, workloads, writeRequests } from './workloads.ts'

/** What a row must reach: goodput as a part of capacity, p99 and memory as multiples of those without load. */
const limits = { goodput: 0.9, p99: 10, memory: 1.2 }
/** A daemon that answers so much of twice its capacity was not at its limit: the row says nothing. */
const unsaturated = 1.5
/** Connections of the closed loops that measure the capacity; the best one counts. What is stored in batches needs many. */
const loops = [8, 32, 128]
const seconds = Number(process.env.SELVEDGE_OVERLOAD_SECONDS ?? 8)
const idleSeconds = Number(process.env.SELVEDGE_OVERLOAD_IDLE_SECONDS ?? 60)
const vitalEveryMs = 50
/** Seconds of each load that are not measured. */
const warmUpSeconds = 3
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

/** The same, with the good answers for each second, and for each CPU second of the daemon and what it started. */
async function loadWithCpu(plan: Plan, pid: number) {
  const total = () => {
    const { own, children } = cpuOf(pid)
    return (own + children) / 1e6
  }
  const before = total()
  const result = await load(plan)
  const share = plan.seconds / (plan.seconds + plan.warmUpSeconds)
  return {
    ...result,
    perSecond: result.good / plan.seconds,
    perCpuSecond: result.good / ((total() - before) * share),
  }
}

/** Sends the vital request again and again on one connection, each after the one before. What it takes counts after the warm-up. */
function probe(vital: () => Promise<boolean>): () => { p99: number; failed: number } {
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

async function measure({ name, program, requests, vital }: Workload, services: Services, folder: string) {
  const texts = await requests(services)
  const { url, process: daemon } = program(services)
  const pid = daemon.pid!
  try {
    pin(pid)
  } catch {
    // No taskset, no pgrep or one core: the rows say more about a machine that is shared.
  }
  const plan = (rate: number, connections: number): Plan => ({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    requests: writeRequests(folder, texts()),
    rate,
    warmUpSeconds,
    seconds,
    connections,
    timeoutMs: 20_000,
  })
  const capacities: Awaited<ReturnType<typeof loadWithCpu>>[] = []
  for (const connections of loops) capacities.push(await loadWithCpu(plan(0, connections), pid))
  const capacity = capacities.reduce((best, each) => (each.perSecond > best.perSecond ? each : best))
  const unloaded = await load(plan(capacity.perSecond / 10, 64))
  const idle = residentMb(pid)
  const vitals = probe(() => vital(services))
  const twice = await loadWithCpu(plan(capacity.perSecond * 2, maxConnections), pid)
  const vitalResult = vitals()
  const peak = residentMb(pid)
  await sleep(idleSeconds * 1000)
  const memory = residentMb(pid) / idle
  const goodput = twice.perSecond / capacity.perSecond
  const perCpu = twice.perCpuSecond / capacity.perCpuSecond
  const p99 = twice.p99 / unloaded.p99
  const isSaturated = goodput < unsaturated
  const isReached =
    isSaturated &&
    goodput >= limits.goodput &&
    p99 <= limits.p99 &&
    memory <= limits.memory &&
    vitalResult.failed === 0
  const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0)
  say(
    `| ${name} | ${Math.round(capacity.perSecond)}/s | ${(goodput * 100).toFixed(0)} % | ${(perCpu * 100).toFixed(0)} % | ${ms(unloaded.p99)} ms | ${ms(twice.p50)} ms | ${ms(twice.p99)} ms | ${p99.toFixed(1)} | ${ms(vitalResult.p99)} ms, ${vitalResult.failed} failed | ${idle.toFixed(0)}, ${peak.toFixed(0)}, ${(memory * idle).toFixed(0)} MB | ${isSaturated ? (isReached ? 'yes' : 'no') : 'not at its limit'} |`,
  )
  process.stderr.write(`${name}: ${JSON.stringify({ ...twice, sample: twice.sample.slice(0, 300) })}\n`)
  return isReached
}

const wanted = process.argv.slice(2).join(' ')
const folder = mkdtempSync(join(tmpdir(), 'selvedge-overload-'))
const services = await start()
try {
  say(
    `At twice the capacity, from an open loop, ${seconds} s a row; p99 in milliseconds from the planned time of a request.\n\n` +
      '| Row | Capacity | Goodput | per CPU second | p99 unloaded | p50 | p99 | Ratio of p99 | Vital p99 | Memory idle, loaded, a minute later | Reached |\n' +
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
  )
  for (const workload of workloads) {
    if (!workload.name.includes(wanted)) continue
    if (!(await measure(workload, services, folder))) process.exitCode = 1
  }
} finally {
  await services.stop()
  rmSync(folder, { recursive: true, force: true })
}
