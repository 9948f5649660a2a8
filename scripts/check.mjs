/** `npm run check`: format and lint, types, unused code, packaging, generated reference. Every step is named when it fails. */
import { spawnSync } from 'node:child_process'
import { ensureInstalled, projectNode, root } from './install.mjs'

ensureInstalled()
const bin = (name) => `${root}/node_modules/.bin/${name}`
const projects = [
  'packages/protocol',
  'packages/client',
  'packages/client/tsconfig.node.json',
  'packages/geo',
  'packages/service-kit',
  'apps/runtime',
  'apps/runtime/tsconfig.function.json',
  'apps/runtime/tsconfig.function-test.json',
  'apps/identity',
  'apps/discovery',
  'apps/cli',
  'apps/console',
  'apps/stack',
  'apps/simulator',
  'examples/backend',
  '.',
]
const steps = [
  ['format and lint', bin('biome'), ['check', '--error-on-warnings', '.']],
  ...projects.map((project) => [`types of ${project}`, bin('tsc'), ['-p', project]]),
  [
    'the rules',
    projectNode(),
    [`${root}/node_modules/vitest/vitest.mjs`, 'run', 'tests/rules', 'tests/layers'],
  ],
  ['unused code', bin('knip'), []],
  ['the libraries build', projectNode(), [`${root}/scripts/libraries.mjs`]],
  ['packaging of protocol', bin('publint'), ['packages/protocol', '--strict', '--pack', 'npm']],
  ['packaging of client', bin('publint'), ['packages/client', '--strict', '--pack', 'npm']],
  [
    'the reference is up to date',
    projectNode(),
    ['--conditions=source', 'docs/generate/reference.ts', '--check'],
  ],
]
const failed = []
for (const [name, command, args] of steps) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
  console.info(`${status === 0 ? 'ok    ' : 'FAILED'} ${name}`)
  if (status !== 0) {
    failed.push(name)
    console.info(`${stdout}${stderr}`)
  }
}
if (failed.length > 0) {
  console.error(`${failed.length} of ${steps.length} checks failed: ${failed.join(', ')}`)
  process.exit(1)
}
