/**
 * `npm run check`: format and lint, types, unused code, packaging, generated reference. Every step is named when it fails. As many run at
 * the same time as there are processors.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { ensureInstalled, projectNode, root } from './install.mjs'

ensureInstalled()
const bin = (name) => `${root}/node_modules/.bin/${name}`
/** `tsconfig.node.json` is all that runs on Node.js and has the same options: modules that several import are checked once. */
const projects = [
  'packages/protocol',
  'packages/client',
  'packages/client/tsconfig.node.json',
  'tsconfig.node.json',
  'apps/runtime/tsconfig.function.json',
  'apps/runtime/tsconfig.function-test.json',
  'apps/console',
  '.',
]
/** Each may name one before it that it waits for. The longest are first. */
const steps = [
  ['the libraries build', projectNode(), [`${root}/scripts/libraries.mjs`]],
  [
    'the rules',
    projectNode(),
    [`${root}/node_modules/vitest/vitest.mjs`, 'run', 'tests/rules', 'tests/layers'],
  ],
  ['unused code', bin('knip'), []],
  ['format and lint', bin('biome'), ['check', '--error-on-warnings', '.']],
  ...projects.map((project) => [`types of ${project}`, bin('tsc'), ['-p', project]]),
  [
    'the reference is up to date',
    projectNode(),
    ['--conditions=source', 'docs/generate/reference.ts', '--check'],
  ],
  ...['protocol', 'client'].map((library) => [
    `packaging of ${library}`,
    bin('publint'),
    [`packages/${library}`, '--strict', '--pack', 'npm'],
    'the libraries build',
  ]),
]

const failed = []
const outcomes = new Map()

async function run([name, command, args, before]) {
  await outcomes.get(before)
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  console.info(`${status === 0 ? 'ok    ' : 'FAILED'} ${name}`)
  if (status === 0) return
  failed.push(name)
  console.info(`${out}${errors}`)
}

const waiting = [...steps]
async function runInTurn() {
  for (let step = waiting.shift(); step; step = waiting.shift()) {
    const outcome = run(step)
    outcomes.set(step[0], outcome)
    await outcome
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, runInTurn))
if (failed.length > 0) {
  console.error(`${failed.length} of ${steps.length} checks failed: ${failed.join(', ')}`)
  process.exit(1)
}
