/** The thread that fuzzes: an input that never ends, or takes all memory, ends this thread and not the program. */
import { parentPort, workerData } from 'node:worker_threads'
import { regressionsOf } from '../corpus/regressions.ts'
import { leastCost, limitFor, usualCost } from './cost.ts'
import { type Finding, fuzzTarget, type Summary } from './fuzz-target.ts'
import type { Target } from './target.ts'

export interface Work {
  readonly targets: readonly string[]
  /** URL of the module with the table of targets. */
  readonly table: string
  readonly seed: string
  readonly milliseconds: number
  /** Base64: only this input. */
  readonly input?: string
  readonly beacon: SharedArrayBuffer
}

export type Message =
  | { readonly begun: string }
  | { readonly finding: Finding }
  | { readonly summary: Summary }
  | { readonly outcome: string; readonly micros: number; readonly limit: number }

const { targets: names, table, seed, milliseconds, input, beacon } = workerData as Work
const { targets } = (await import(table)) as { targets: readonly Target[] }
const tell = (message: Message) => parentPort!.postMessage(message)

/** What the other thread sees of the input under way: a count of inputs, its length, its bytes. */
const counters = new Int32Array(beacon, 0, 2)
const shown = new Uint8Array(beacon, 8)
const onInput = (bytes: Buffer) => {
  counters[1] = Math.min(bytes.length, shown.length)
  shown.set(bytes.subarray(0, shown.length))
  Atomics.add(counters, 0, 1)
}

process.exitCode = 1
const noRun = { work: 0, calls: 1, micros: 0 }
for (const name of names) {
  const target = targets.find((each) => each.name === name)!
  tell({ begun: name })
  if (input !== undefined) {
    const bytes = Buffer.from(input, 'base64')
    const usual = await usualCost(target, await target.seeds())
    const run = await leastCost(target, bytes, 7).catch((cause) => ({ ...noRun, outcome: String(cause) }))
    tell({ outcome: run.outcome, micros: run.micros, limit: limitFor(run, usual) })
  }
  const summary = await fuzzTarget(target, {
    seed,
    milliseconds: input === undefined ? milliseconds : 0,
    regressions: input === undefined ? regressionsOf(name) : [Buffer.from(input, 'base64')],
    onFinding: (finding) => tell({ finding }),
    onInput,
  })
  tell({ summary })
}
process.exitCode = 0
