/**
 * Bundles each program into `dist/` of its folder. One file starts twice as fast as a tree of modules and takes less memory;
 * see docs/architecture.md. Nothing is done where no source is newer than what was built.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleProgram, programs, root } from './bundle-program.mjs'
import { projectNode } from './install.mjs'
import { addLoader, makeCodeCache } from './start/code-cache.mjs'

function newestSource(folder) {
  let newest = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === 'dist' || entry.name === 'node_modules') continue
    const path = join(folder, entry.name)
    newest = Math.max(newest, entry.isDirectory() ? newestSource(path) : statSync(path).mtimeMs)
  }
  return newest
}

const stampOf = (app) => join(root, 'apps', app, 'dist', '.built')
const source = Math.max(
  ...['apps', 'packages', 'scripts'].map((each) => newestSource(join(root, each))),
  statSync(join(root, 'package-lock.json')).mtimeMs,
)
const isFresh = (app) => existsSync(stampOf(app)) && Number(readFileSync(stampOf(app), 'utf8')) === source

const stale = Object.keys(programs).filter((app) => !isFresh(app))
if (stale.length > 0) {
  for (const app of stale) {
    const target = join(root, 'apps', app, 'dist')
    rmSync(target, { recursive: true, force: true })
    await bundleProgram(app, target)
    if (app === 'runtime') {
      addLoader(target)
      makeCodeCache(target, { node: [projectNode()] })
    }
    // `selvedge init` copies them into projects.
    if (app === 'cli')
      cpSync(join(root, 'packages/client/src/function'), join(target, 'function'), {
        recursive: true,
        filter: (path) => !path.endsWith('.test.ts'),
      })
    if (app === 'identity') {
      const { build } = await import('vite')
      await build({ configFile: join(root, 'apps/console/vite.config.ts') })
    }
    writeFileSync(stampOf(app), String(source))
  }
}
