/** Fuzzes one parser for some time. The inputs follow from the seed alone. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { leastCost, limitFor, memoryInUse, type Run, runOnce, usualCost } from './cost.ts'
import { mutate } from './mutate.ts'
import { createRandom } from './random.ts'
import { BrokenPromise, type Parser, type Target } from './target.ts'

type FindingKind = 'crash' | 'promise' | 'rejection' | 'cost' | 'growth' | 'hang'

export interface Finding {
  readonly target: string
  readonly kind: FindingKind
  readonly detail: string
  readonly seed: string
  /** Base64; absent where no single input is to blame. */
  readonly input?: string
}

export interface Summary {
  readonly target: string
  readonly inputs: number
  /** Different outcomes that were seen. */
  readonly outcomes: number
  /** Usual CPU time in microseconds per KiB. */
  readonly usual: number
  /** Bytes of memory that stayed after two thirds of the inputs. */
  readonly growth: number
}

export interface FuzzOptions {
  readonly seed: string
  readonly milliseconds: number
  /** Inputs that were findings once. */
  readonly regressions: readonly Buffer[]
  readonly onFinding: (finding: Finding) => void
  /** Called before each input, so that one that never ends can be named. */
  readonly onInput: (input: Buffer) => void
}

const defaultMaxBytes = 64 * 1024
/** Bytes of memory by which a parser may grow while it is fuzzed. */
const maxGrowth = 16 * 1024 * 1024
/** Bytes that the inputs kept as seeds may have in all. */
const maxPool = 2 * 1024 * 1024
/** Findings after which a target is left. */
const maxFindings = 5
const remeasured = 7

const wordingOf = (outcome: string): string =>
  outcome
    .slice(0, 400)
    .replaceAll(/"(?:[^"\\]|\\.)*"?|'[^']*'?|[\d.]+/g, '…')
    .slice(0, 60)

/** Fuzzes with all oracles. @returns what was done; findings are reported as they come */
export async function fuzzTarget(target: Target, options: FuzzOptions): Promise<Summary> {
  const random = createRandom(`${options.seed} ${target.name}`)
  const seeds = await target.seeds()
  const pool = [...seeds, ...options.regressions]
  let poolBytes = pool.reduce((sum, { length }) => sum + length, 0)
  const outcomes = new Set<string>()
  const reported = new Set<string>()
  let current: Buffer = Buffer.alloc(0)
  let parser: Parser = await target.open()

  function report(kind: FindingKind, detail: string, input?: Buffer): void {
    const key = `${kind} ${wordingOf(detail)}`
    if (reported.has(key)) return
    reported.add(key)
    const shown = input && { input: input.toString('base64') }
    options.onFinding({ target: target.name, kind, detail, seed: options.seed, ...shown })
  }
  const onRejection = (cause: unknown) => report('rejection', describe(cause), current)
  process.on('unhandledRejection', onRejection)
  process.on('uncaughtException', onRejection)

  async function attempt(input: Buffer, usual: number): Promise<Run | undefined> {
    current = input
    options.onInput(input)
    try {
      const run = await runOnce(parser, input)
      if (run.micros > limitFor(run, usual)) await expectCheap(input, usual)
      return run
    } catch (cause) {
      report(
        cause instanceof BrokenPromise ? 'promise' : 'crash',
        describe(cause),
        await shrink(target, input, cause),
      )
      parser = await target.open()
      return undefined
    }
  }

  async function expectCheap(input: Buffer, usual: number): Promise<void> {
    const run = await leastCost(target, input, remeasured)
    const limit = limitFor(run, usual)
    const { micros, work } = run
    if (micros <= limit) return
    const shown = `${(micros / 1000).toFixed(1)} ms of CPU for ${work} bytes; ${(limit / 1000).toFixed(1)} ms are allowed`
    report('cost', shown, input)
  }

  let holdsTooMuch = false
  function expectLittleHeld(input: Buffer): void {
    const { openStream } = target
    if (holdsTooMuch) return
    // The first reader of all compiles code, which stays.
    let held = openStream ? heldByStream(openStream, input) : 0
    if (openStream && held > maxHeld)
      held = Math.min(heldByStream(openStream, input), heldByStream(openStream, input))
    holdsTooMuch = held > maxHeld
    if (holdsTooMuch) report('growth', `a reader holds ${held} bytes after a long stream`, input)
  }

  const usual = await usualCost(target, seeds, options.onInput)
  for (const input of pool) {
    const run = await attempt(input, usual)
    if (run) outcomes.add(wordingOf(run.outcome))
    expectLittleHeld(input)
    await nextTurn()
  }
  const begin = performance.now()
  const words = target.words ?? []
  const own = target.mutators ?? []
  const maxBytes = target.maxBytes ?? defaultMaxBytes
  let inputs = pool.length
  let settled: number | undefined
  for (let elapsed = 0; elapsed < options.milliseconds && reported.size < maxFindings; ) {
    const input = mutate(random.pick(pool), random, { others: pool, words, own, maxBytes })
    const run = await attempt(input, usual)
    inputs++
    const wording = run && wordingOf(run.outcome)
    if (wording !== undefined && !outcomes.has(wording) && outcomes.size < 5000) {
      outcomes.add(wording)
      if (poolBytes + input.length <= maxPool + seeds.reduce((sum, { length }) => sum + length, 0)) {
        pool.push(Buffer.from(input))
        poolBytes += input.length
      }
      if (outcomes.size < 40) expectLittleHeld(input)
    }
    if (inputs % 64 === 0 || run === undefined) await nextTurn()
    elapsed = performance.now() - begin
    if (settled === undefined && elapsed > options.milliseconds / 3) settled = memoryInUse() - poolBytes
  }
  await nextTurn()
  const grown = () => (settled === undefined ? 0 : memoryInUse() - poolBytes - settled)
  let growth = grown()
  for (let again = 0; again < 5 && growth > maxGrowth; again++) {
    // What is freed by another thread, or at the end of a turn, takes its time.
    await sleep(100)
    growth = Math.min(growth, grown())
  }
  if (growth > maxGrowth) report('growth', `${growth} bytes stayed in memory after ${inputs} inputs`)
  await parser.close?.()
  process.off('unhandledRejection', onRejection)
  process.off('uncaughtException', onRejection)
  return { target: target.name, inputs, outcomes: outcomes.size, usual: usual * 1024, growth }
}

/** Bytes of a long stream, and how many of them a reader may keep. */
const streamBytes = 4 * 1024 * 1024
const maxHeld = 2 * 1024 * 1024
const streamChunk = 64 * 1024

/** Feeds an input, and then copies of it, to one reader. @returns bytes that the reader keeps */
function heldByStream(openStream: () => (chunk: Buffer) => void, input: Buffer): number {
  if (input.length === 0) return 0
  const before = memoryInUse()
  const read = openStream()
  read(Buffer.from(input))
  for (let fed = 0; fed < streamBytes; fed += streamChunk) read(Buffer.alloc(streamChunk, input))
  const held = memoryInUse() - before
  // The reader must be alive until here.
  read(Buffer.alloc(0))
  return held
}

const describe = (cause: unknown): string =>
  cause instanceof Error
    ? `${cause.name}: ${cause.message.slice(0, 300)}${/\n\s+at .*/.exec(cause.stack ?? '')?.[0] ?? ''}`
    : String(cause)

/** Cuts parts off as long as the failure stays the same. */
async function shrink(target: Target, input: Buffer, cause: unknown): Promise<Buffer> {
  const wanted = wordingOf(describe(cause))
  const end = performance.now() + 1000
  let small = input
  for (let size = Math.ceil(small.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < small.length && performance.now() < end; ) {
      const shorter = Buffer.concat([small.subarray(0, from), small.subarray(from + size)])
      if ((await failureOf(target, shorter)) === wanted) small = shorter
      else from += size
    }
  }
  return small
}

async function failureOf(target: Target, input: Buffer): Promise<string | undefined> {
  const parser = await target.open()
  try {
    await parser.parse(input)
    return undefined
  } catch (cause) {
    return wordingOf(describe(cause))
  } finally {
    await parser.close?.()
  }
}
