/** What a parser costs: CPU time of the process, which does nothing else, and memory that stays. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Parser, Target } from './target.ts'

/** An input may cost this many times the parser's usual CPU time per byte. */
const maxRatio = 20
/** Smaller inputs count as this many bytes, since every call has a fixed cost. */
const leastBytes = 1024
/** Microseconds below which nothing is a finding: timers and the collector of V8 are no more exact. */
const leastMicros = 3000
/** Microseconds that each further call may cost: the event and the system call that bring a piece of a stream cost as much. */
const microsPerCall = 20
/** A seed of this many bytes shows what a byte costs, not what a call costs. */
const largeBytes = 4096

export interface Run {
  readonly outcome: string
  /** Bytes that the parser looked at. */
  readonly work: number
  /** Pieces in which it got them. */
  readonly calls: number
  /** CPU time in microseconds. */
  readonly micros: number
}

const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return user + system
}

export async function runOnce(parser: Parser, input: Buffer): Promise<Run> {
  const before = cpu()
  let result = parser.parse(input)
  if (result instanceof Promise) result = await result
  const micros = cpu() - before
  const { outcome, work = 0, calls = 1 } = typeof result === 'string' ? { outcome: result } : result
  return { outcome, work: Math.max(work, input.length), calls, micros }
}

/** The least of several runs, each by a parser of its own: whatever disturbs a run only ever adds. */
export async function leastCost(target: Target, input: Buffer, times: number): Promise<Run> {
  let least: Run | undefined
  for (let at = 0; at < times; at++) {
    const parser = await target.open()
    const run = await runOnce(parser, input)
    await parser.close?.()
    if (!least || run.micros < least.micros) least = run
    // What takes seconds is not noise.
    if (run.micros > 1_000_000) break
  }
  return least!
}

/** The usual CPU time of a parser in microseconds per byte: the median of its large valid inputs that come in one piece. */
export async function usualCost(
  target: Target,
  seeds: readonly Buffer[],
  onInput: (input: Buffer) => void = () => undefined,
): Promise<number> {
  const runs: Run[] = []
  for (const seed of seeds) {
    onInput(seed)
    // A seed that fails is reported when its turn comes.
    await leastCost(target, seed, 5)
      .then(() => leastCost(target, seed, 5))
      .then(
        (run) => runs.push(run),
        () => undefined,
      )
  }
  if (runs.length === 0) return 1
  const inOnePiece = runs.filter(({ calls }) => calls === 1)
  const whole = inOnePiece.length > 0 ? inOnePiece : runs
  const largest = Math.max(...whole.map(({ work }) => work))
  const large = whole.filter(({ work }) => work >= Math.min(largeBytes, largest))
  const costs = large.map(({ micros, work }) => Math.max(1, micros) / Math.max(1, work))
  costs.sort((one, other) => one - other)
  return costs[Math.floor(costs.length / 2)]!
}

/** CPU time in microseconds that a run may cost. */
export const limitFor = ({ work, calls }: Run, usual: number): number =>
  Math.max(leastMicros, maxRatio * usual * Math.max(leastBytes, work)) + (calls - 1) * microsPerCall

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes in use after everything that nobody needs was freed. */
export function memoryInUse(): number {
  // The second one waits for the thread that frees the buffers of the first.
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
