/**
 * No command that people are shown fetches a package by a name that is not registered: another person who registers it could run code on
 * their devices. No project of `selvedge init` depends on such a name. `npx selvedge` works in a clone, because its .npmrc keeps npx from installing, and is in the documents of the clone only.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { init } from '../../apps/cli/src/commands/init.ts'
import { cliPath } from '../harness/cli.ts'
import { root, temporaryFolder } from '../harness/processes.ts'

/** Documents of the clone: their commands run in it. */
const ofClone = ['README.md', 'examples/README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']

/** Commands of a clone in programs: its launcher, hints of a command that npx started, and the page's commands for a clone. */
const forClone = [
  'apps/cli/bin/selvedge.js',
  'apps/cli/src/output/program-name.ts',
  'apps/console/src/views/projects/connect/commands.ts',
]

/** Runs the program of this name from a registry if it is not installed. */
const runs = /\b(?:npx|npm exec|npm x|pnpx|pnpm dlx|yarn dlx|bunx)\s+(?:-\S+\s+)*(?:--\s+)?@?selvedge\b/
/** Installs a package of this name, and not from a file. */
const installs = /\b(?:npm|pnpm|yarn|bun)\s+(?:i|install|add|create|init)\s+(?:-\S+\s+)*@?selvedge\b/

/** A module specifier or a dependency of one of our names. */
const requests = /['"](?:@selvedge\/[\w./-]*|selvedge(?:\/[\w./-]*)?)['"]/

const problemsOf = (path: string, text: string): string[] =>
  text.split('\n').flatMap((line, index) => {
    const isFound = installs.test(line) || (runs.test(line) && ![...ofClone, ...forClone].includes(path))
    return isFound ? [`${path}:${index + 1}: ${line.trim()}`] : []
  })

it('no page, hint, template or document outside a clone has a command that fetches packages by our names', () => {
  const shown = ['*.md', 'apps', 'packages', 'packaging', 'deploy', 'docs', 'examples']
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate', ...shown],
    { cwd: root, encoding: 'utf8' },
  )
  const paths = listed.split('\0').filter((path) => /\.(md|tsx?|js|mjs|cjs|html|json|ya?ml|sh)$/.test(path))
  expect(paths.length).toBeGreaterThan(500)
  expect(paths.flatMap((path) => problemsOf(path, readFileSync(join(root, path), 'utf8')))).toEqual([])
})

/** Dependencies of all kinds, and modules that the files import or name. */
function requestsOf(project: string): string[] {
  return readdirSync(project, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() && !each.name.endsWith('.wasm'))
    .map((each) => join(each.parentPath, each.name))
    .flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => requests.test(line))
        .map((line) => `${relative(project, path)}: ${line.trim()}`),
    )
}

describe.each(init.args![0]!.choices!)('a project of selvedge init %s', (kind) => {
  it('requests no package by our names from a registry', async () => {
    const folder = await temporaryFolder()
    onTestFinished(folder.remove)
    const project = join(folder.path, 'project')
    execFileSync(process.execPath, [cliPath, 'init', kind, project])
    expect(requestsOf(project)).toEqual([])
  })
})

it.each([
  ['"@selvedge/client": "0.1.0",', true],
  ['"selvedge": "^0.1.0"', true],
  ["import type { Worker } from '@selvedge/client/function'", true],
  ["const { init } = await import('selvedge')", true],
  ["import type { Worker } from './selvedge/index.ts'", false],
  ['"dev": "selvedge dev .",', false],
])('the rule for projects sees %s: %s', (line, isFound) => {
  expect(requests.test(line)).toBe(isFound)
})

it('npx installs nothing in the clone', () => {
  expect(readFileSync(join(root, '.npmrc'), 'utf8').split('\n')).toContain('yes=false')
})

it.each([
  ['docs/people.md', 'npx selvedge login', 1],
  ['docs/people.md', 'sudo npx --yes selvedge@latest login', 1],
  ['docs/people.md', 'npm exec -- selvedge up', 1],
  ['README.md', 'npx selvedge up', 0],
  ['README.md', 'npm install --global selvedge', 1],
  ['README.md', 'npm i -D @selvedge/client', 1],
  ['README.md', 'npm install --global ./selvedge-0.1.0.tgz', 0],
  ['docs/people.md', 'selvedge login', 0],
])('the rule sees in %s: %s', (path, line, findings) => {
  expect(problemsOf(path, line)).toHaveLength(findings)
})
