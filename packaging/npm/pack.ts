/** The npm packages: two libraries and the command line, each staged in a folder with only what users need, then packed. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readJson, root } from '../release.ts'
import { cliManifest, libraryManifest } from './manifest.ts'
import { withoutRepositoryLinks } from './readme.ts'

/** Folders of the workspace, in the order in which they depend on each other. */
const libraries = ['packages/protocol', 'packages/client']
const cli = 'apps/cli'

/**
 * @param target folder of the tarballs
 * @param work an empty folder for the stages
 * @returns names of the tarballs
 */
export function packNpmPackages(target: string, work: string): string[] {
  mkdirSync(target, { recursive: true })
  const staged = [...libraries.map((folder) => stageLibrary(folder, work)), stageCli(work)]
  return staged.map((folder) => pack(folder, target))
}

function stageLibrary(folder: string, work: string): string {
  const stage = openStage(folder, work)
  cpSync(join(root, folder, 'dist'), join(stage, 'dist'), { recursive: true })
  writeManifest(stage, libraryManifest(readJson(join(root, folder, 'package.json'))))
  return stage
}

function stageCli(work: string): string {
  const stage = openStage(cli, work)
  for (const each of ['dist', 'templates'])
    cpSync(join(root, cli, each), join(stage, each), {
      recursive: true,
      filter: (path) => !path.endsWith('.built'),
    })
  cpSync(join(root, 'packaging/npm/selvedge.cjs'), join(stage, 'bin/selvedge.cjs'))
  writeManifest(stage, cliManifest(readJson(join(root, cli, 'package.json'))))
  return stage
}

/** A new folder with the README and the licence. */
function openStage(folder: string, work: string): string {
  const stage = join(work, folder)
  rmSync(stage, { recursive: true, force: true })
  mkdirSync(stage, { recursive: true })
  cpSync(join(root, 'LICENSE'), join(stage, 'LICENSE'))
  const readme = readFileSync(join(root, folder, 'README.md'), 'utf8')
  writeFileSync(join(stage, 'README.md'), withoutRepositoryLinks(readme))
  return stage
}

const writeManifest = (stage: string, manifest: object): void =>
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)

function pack(stage: string, target: string): string {
  const out = execFileSync('npm', ['pack', '--json', '--pack-destination', target], {
    cwd: stage,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const packed = JSON.parse(out) as Record<string, { filename: string }> | { filename: string }[]
  return Object.values(packed)[0]!.filename
}
