/** Servers and peers as processes, and what they cost. Pairs are measured in turn, so that a noisy moment meets both. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Plan, Result } from './load.ts'

export const root = fileURLToPath(new URL('..', import.meta.url))
export const rounds = Number(process.env.SELVEDGE_BENCH_ROUNDS ?? 7)
export const roundSeconds = Number(process.env.SELVEDGE_BENCH_SECONDS ?? 2)

/** Seconds of load that are not measured: until then the compiler is still at work. */
const warmUpSeconds = 4

export interface Row {
  readonly name: string
  readonly ours: number
  readonly peer: number
  readonly ratio: number
  readonly unit: string
  /** What the peer is. */
  readonly against: string
  /** What the ratio (or, where it says so, the figure) should be. */
  readonly reach: string
  readonly reached: boolean | null
}

export interface Server {
  readonly process: ChildProcess
  readonly target: Plan['target']
  /** What only this one is asked, where contestants differ. */
  readonly asks?: Partial<Pick<Plan, 'path' | 'headers' | 'bodies'>>
  stop(): Promise<void>
}

/** Starts a script of bench/servers, which tells its port or socket on its channel. */
export async function startPeer(script: string, args: readonly string[] = []): Promise<Server> {
  const child = spawn(
    process.execPath,
    ['--conditions=source', join(root, 'bench/servers', script), ...args],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  )
  const [target] = (await once(child, 'message')) as [Plan['target']]
  return { process: child, target, stop: () => stop(child) }
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** CPU seconds that a process has used: the first two times of proc_pid_stat(5), in ticks of 10 ms. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

export async function runLoad(plan: Plan): Promise<Result> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(root, 'bench/load.ts'),
    JSON.stringify(plan),
  ])
  const result = JSON.parse(stdout) as Result
  if (result.failures > 0)
    throw new Error(`${result.failures} of ${result.answers} answers failed: ${result.sample}`)
  return result
}

/** Figures of one contestant, round by round. */
export type Figures = readonly number[]

/**
 * Answers for one second of one core, round by round, for several contestants in turn. One that is a function is no server:
 * it does the work itself and gives its own figure.
 */
export async function perCpuSecond(
  contestants: readonly (Server | (() => number))[],
  plan: Omit<Plan, 'target' | 'seconds' | 'path'> & { readonly path?: string },
): Promise<Figures[]> {
  const figures = contestants.map((): number[] => [])
  for (const each of contestants) {
    if (typeof each !== 'function')
      await runLoad({ path: '/', ...plan, target: each.target, ...each.asks, seconds: warmUpSeconds })
  }
  for (let round = 0; round < rounds; round++) {
    for (const [at, each] of contestants.entries()) {
      if (typeof each === 'function') {
        figures[at]!.push(each())
        continue
      }
      const before = cpuSeconds(each.process.pid!)
      const { answers } = await runLoad({
        path: '/',
        ...plan,
        target: each.target,
        ...each.asks,
        seconds: roundSeconds,
      })
      figures[at]!.push(answers / (cpuSeconds(each.process.pid!) - before))
    }
  }
  return figures
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

type Description = Pick<Row, 'name' | 'unit' | 'against'>

/** A row where more is better: ours must be at least `atLeast` of the peer's. What disturbs a round only ever takes away: the best one of each counts. */
export function rateRow(
  description: Description,
  all: { ours: Figures; peer: Figures },
  atLeast: number,
): Row {
  const ours = Math.max(...all.ours)
  const peer = Math.max(...all.peer)
  const ratio = ours / peer
  return { ...description, ours, peer, ratio, reach: `ratio ≥ ${atLeast}`, reached: ratio >= atLeast }
}

/** A row whose figure has a limit of its own. */
export function limitRow(description: Description, ours: number, limit: number): Row {
  const reach = `≤ ${limit} ${description.unit}`
  return { ...description, ours, peer: limit, ratio: ours / limit, reach, reached: ours <= limit }
}

/** Milliseconds that the work needs. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await work()
  return performance.now() - begin
}

/**
 * A row of medians with their spread, where less is better.
 *
 * @param atMost of the peer's median; undefined: the ratio is reported
 */
export function medianRow(
  { name, unit, against }: Description,
  all: { ours: Figures; peer: Figures },
  atMost?: number,
): Row {
  const [ours, peer] = [median(all.ours), median(all.peer)]
  const ratio = ours / peer
  return {
    name,
    ours,
    peer,
    ratio,
    unit,
    against: `${against}; medians, ours ${spreadOf(all.ours)}, peer ${spreadOf(all.peer)}`,
    reach: atMost === undefined ? 'reported' : `ratio ≤ ${atMost}`,
    reached: atMost === undefined ? null : ratio <= atMost,
  }
}

const spreadOf = (values: Figures): string => {
  const show = (value: number) => (value < 100 ? value.toFixed(2) : value.toFixed(0))
  return `${show(Math.min(...values))} to ${show(Math.max(...values))}`
}

/** A row where less is better: ours may be at most `atMost` of the peer's. What disturbs a round only ever adds: the best one of each counts. */
export function costRow(
  description: Description,
  all: { ours: Figures; peer: Figures },
  atMost: number,
): Row {
  const ours = Math.min(...all.ours)
  const peer = Math.min(...all.peer)
  const ratio = ours / peer
  return { ...description, ours, peer, ratio, reach: `ratio ≤ ${atMost}`, reached: ratio <= atMost }
}
