/**
 * Compiles the libraries that are published, `protocol` and `client`, to JavaScript with types in their `dist/`. Nothing is done
 * where no source is newer than what was built, and where there is no compiler (`npm install --omit=dev`).
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './install.mjs'

/** In the order in which they need each other; the configurations of each. */
const libraries = { protocol: ['tsconfig.json'], client: ['tsconfig.json', 'tsconfig.node.json'] }
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const folderOf = (library) => join(root, 'packages', library)
const stamp = join(root, 'node_modules', '.selvedge-libraries')

/** Times of everything that goes into the libraries, by relative path: a copy of the project is as fresh. A file that is gone counts as well. */
function sources() {
  const files = Object.keys(libraries).flatMap((library) =>
    readdirSync(folderOf(library), { recursive: true })
      .filter((name) => !/(^|\/)(dist|node_modules)(\/|$)/.test(name))
      .map((name) => join('packages', library, name)),
  )
  const all = [...files, 'tsconfig.base.json', 'package-lock.json']
  return all.map((path) => `${path} ${statSync(join(root, path)).mtimeMs}`).join('\n')
}

function compile(library, config) {
  const folder = folderOf(library)
  const args = [
    ...['-p', join(folder, config), '--noEmit', 'false', '--declaration'],
    ...['--rootDir', join(folder, 'src'), '--outDir', join(folder, 'dist')],
    // What was compiled before is what this one is compiled against: as somebody who installs it would have it.
    ...(library === 'client' ? ['--customConditions', 'none'] : []),
  ]
  const { status } = spawnSync(process.execPath, [tsc, ...args], { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(1)
}

const isBuilt = Object.keys(libraries).every((library) =>
  existsSync(join(folderOf(library), 'dist/index.js')),
)
const now = sources()
if (existsSync(tsc) && !(isBuilt && existsSync(stamp) && readFileSync(stamp, 'utf8') === now)) {
  for (const [library, configs] of Object.entries(libraries)) {
    rmSync(join(folderOf(library), 'dist'), { recursive: true, force: true })
    for (const config of configs) compile(library, config)
  }
  writeFileSync(stamp, now)
}
