/**
 * `npm run fuzz [seconds]`: feeds mutated inputs to every parser of foreign bytes, and reports an exception that is no refusal, a
 * promise without a handler, an input that costs too much CPU time, and memory that only grows. Exit code 1 after a finding.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import type { Finding, Summary } from './engine/fuzz-target.ts'
import type { Target } from './engine/target.ts'
import type { Message, Work } from './engine/worker.ts'

/** MiB of JavaScript objects that the parsers may hold in all. */
const maxHeapMb = 768
/** A longer input is written to a file, since it does not fit on a command line. */
const maxShown = 4000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    target: { type: 'string' },
    input: { type: 'string' },
    'input-file': { type: 'string' },
    /** Other targets than those of targets/index.ts. */
    table: { type: 'string' },
    /** Seconds after which one input counts as one that never ends. */
    hang: { type: 'string', default: '20' },
  },
})
const table = new URL(values.table ?? 'targets/index.ts', import.meta.url).href
const { targets } = (await import(table)) as { targets: readonly Target[] }
const seconds = Number(positionals[0] ?? 60)
const hangSeconds = Number(values.hang)
const seed = values.seed ?? String(Date.now() % 1_000_000)
const names = values.target?.split(',') ?? targets.map(({ name }) => name)
const unknown = names.find((name) => !targets.some((each) => each.name === name))
if (unknown !== undefined || !(seconds > 0)) {
  const known = targets.map(({ name }) => name).join(', ')
  process.stderr.write(
    unknown === undefined
      ? `error: ${positionals[0]} is not a number of seconds\n`
      : `error: there is no target "${unknown}"; known are ${known}\n`,
  )
  process.exit(2)
}
const input =
  values.input ??
  (values['input-file'] === undefined ? undefined : readFileSync(values['input-file']).toString('base64'))

let findings = 0
function show({ target, kind, detail, seed: by, input: bytes }: Finding): void {
  findings++
  let repeat = `npm run fuzz -- ${seconds} --target ${target} --seed ${by}`
  if (bytes !== undefined && bytes.length <= maxShown)
    repeat = `npm run fuzz -- --target ${target} --input '${bytes}'`
  else if (bytes !== undefined) {
    const file = join(tmpdir(), `selvedge-fuzz-${target}-${by}-${findings}`)
    writeFileSync(file, Buffer.from(bytes, 'base64'))
    repeat = `npm run fuzz -- --target ${target} --input-file ${file}`
  }
  process.stdout.write(`FINDING ${target} (${kind}), seed ${by}: ${detail}\n  repeat it: ${repeat}\n`)
}

const summarize = ({ target, inputs, outcomes, usual, growth }: Summary) =>
  process.stdout.write(
    `${target.padEnd(14)} ${String(inputs).padStart(8)} inputs  ${String(outcomes).padStart(4)} outcomes  ${usual.toFixed(1).padStart(7)} µs/KiB  ${(growth / 1024).toFixed(0).padStart(6)} KiB kept\n`,
  )

/** Runs targets in one thread. @returns those that are left when one of them ended the thread */
function work(left: readonly string[]): Promise<readonly string[]> {
  const beacon = new SharedArrayBuffer(8 + 4 * 1024 * 1024)
  const counters = new Int32Array(beacon, 0, 2)
  const milliseconds = (seconds * 1000) / names.length
  let current = left[0]!
  const worker = new Worker(new URL('engine/worker.ts', import.meta.url), {
    workerData: {
      targets: left,
      seed,
      milliseconds,
      table,
      beacon,
      ...(input !== undefined && { input }),
    } satisfies Work,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  })
  const blame = (kind: Finding['kind'], detail: string) => {
    const bytes = Buffer.from(Buffer.from(beacon, 8, counters[1]))
    show({ target: current, kind, detail, seed, input: bytes.toString('base64') })
  }
  return new Promise((resolve) => {
    let seen = -1
    const watch = setInterval(() => {
      const count = Atomics.load(counters, 0)
      if (count === seen && count > 0) {
        blame('hang', `one input took more than ${hangSeconds} s`)
        void worker.terminate()
      }
      seen = count
    }, hangSeconds * 1000)
    worker.on('message', (message: Message) => {
      if ('begun' in message) current = message.begun
      else if ('finding' in message) show(message.finding)
      else if ('summary' in message) summarize(message.summary)
      else {
        const { outcome, micros, limit } = message
        process.stdout.write(`outcome: ${outcome}\ncost: ${micros} µs of ${limit.toFixed(0)} µs\n`)
      }
    })
    worker.on('error', (cause) => blame('crash', `the thread ended: ${cause}`))
    worker.on('exit', (code) => {
      clearInterval(watch)
      resolve(code === 0 ? [] : left.slice(left.indexOf(current) + 1))
    })
  })
}

process.stdout.write(`fuzzing ${names.length} targets for ${seconds} s with seed ${seed}\n`)
for (let left: readonly string[] = names; left.length > 0; ) left = await work(left)
process.stdout.write(findings === 0 ? 'no findings\n' : `${findings} findings\n`)
process.exitCode = findings === 0 ? 0 : 1
