/** `npm run pulls [condition…]`: pulls images over bad networks with the runtime and with Podman, and writes the table of docs/services.md; without an argument all. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeRows } from '../../harness/document-tables.ts'
import { has } from '../../harness/installed.ts'
import { podmanNeeds } from '../../harness/podman.ts'
import { root } from '../../harness/processes.ts'
import { type Condition, conditions } from './conditions.ts'
import { isLate, type Outcome, pullOver } from './pull.ts'
import { startPodmanPuller, startRuntimePuller } from './pullers.ts'

const path = join(root, 'docs/services.md')
const all: Readonly<Record<string, Condition>> = conditions
const wanted = process.argv.slice(2)
const unknown = wanted.find((name) => !Object.hasOwn(all, name))
if (unknown !== undefined || !has(...podmanNeeds)) {
  const why =
    unknown === undefined
      ? `this needs ${podmanNeeds.join(', ')}`
      : `there is no condition ${unknown}; there are ${Object.keys(all).join(', ')}`
  process.stderr.write(`error: ${why}\n`)
  process.exit(2)
}

const pullers = [await startRuntimePuller(), await startPodmanPuller()]
try {
  for (const [name, condition] of Object.entries(all)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const cells = [condition.title]
    for (const puller of pullers) {
      const outcome = await pullOver(puller, condition)
      process.stdout.write(`${name}, ${puller.name}: ${JSON.stringify(outcome)}\n`)
      cells.push(cellOf(outcome))
    }
    const table = { name: 'pulls', command: 'npm run pulls', isSorted: false }
    writeFileSync(path, writeRows(readFileSync(path, 'utf8'), table, [cells]))
  }
} finally {
  for (const each of pullers) await each.stop()
}
process.exit(0)

function cellOf({ error, seconds, times }: Outcome): string {
  if (error === isLate) return `${error}, ${times.toFixed(2)} ×`
  const cost = `${times.toFixed(2)} × in ${Math.round(seconds)} s`
  return error === undefined ? `**arrives**, ${cost}` : `fails, ${cost}: ${wordsOf(error)}`
}

/** The last part of an error, which is its cause, without addresses and digests. */
function wordsOf(error: string): string {
  return error
    .replace(/ ?sha256:[0-9a-f]+/g, '')
    .split(': ')
    .slice(-2)
    .join(': ')
    .slice(-80)
}
