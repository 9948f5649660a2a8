/** A copy of the sources and tests of the project, in which files can be changed. It uses the installed modules of the checkout. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../../harness/processes.ts'

const copied = ['apps', 'packages', 'tests', 'deploy', 'docs', 'examples', 'packaging', ':(top,glob)*.*']
const modules = ['node_modules', 'apps/cli/node_modules']

/** Replaces the folder with a copy of all files that git does not ignore. */
export function copyProject(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate', ...copied],
    { cwd: root, encoding: 'utf8' },
  )
  for (const file of listed.split('\0').filter((each) => each !== '' && existsSync(join(root, each)))) {
    const path = join(folder, file)
    mkdirSync(dirname(path), { recursive: true })
    copyFileSync(join(root, file), path)
  }
  for (const each of modules)
    if (existsSync(join(root, each))) symlinkSync(join(root, each), join(folder, each))
}
