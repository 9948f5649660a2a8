/** The version before this one, built from the history of the repository. A release moves it forward to the release before. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../../harness/processes.ts'

const previousCommit = '96eaf54'

/** Whether the history has it: a shallow clone does not. */
export function hasPreviousVersion(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${previousCommit}^{commit}`], { cwd: root, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** @returns a checkout of it with built programs, made once on this machine */
export function buildPreviousVersion(): string {
  const folder = join(root, '.cache/previous', previousCommit)
  if (existsSync(folder)) return folder
  const draft = `${folder}.${process.pid}`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  const archive = execFileSync('git', ['archive', previousCommit], { cwd: root, maxBuffer: 1e9 })
  execFileSync('tar', ['x', '-C', draft], { input: archive })
  linkDependencies(draft)
  symlinkSync(join(root, 'apps/cli/node_modules'), join(draft, 'apps/cli/node_modules'))
  execFileSync(process.execPath, ['--input-type=module', '--eval', bundlePrograms], {
    cwd: draft,
    stdio: 'ignore',
  })
  mkdirSync(dirname(folder), { recursive: true })
  renameSync(draft, folder)
  return folder
}

/** Without the console: no promise is about the pages of an older version, and their libraries are not installed. */
const bundlePrograms = `
  import { bundleProgram, programs } from './scripts/bundle-program.mjs'
  for (const app of Object.keys(programs)) await bundleProgram(app, 'apps/' + app + '/dist')
`

/** The same libraries, and its own packages: a link to the whole folder would lead it to the packages of this version. */
function linkDependencies(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@selvedge'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@selvedge') symlinkSync(join(root, 'node_modules', name), join(modules, name))
  for (const name of readdirSync(join(folder, 'packages')))
    symlinkSync(join('../../packages', name), join(modules, '@selvedge', name))
}
