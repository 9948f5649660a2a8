/**
 * Bundles each program into `dist/` of its folder. One file starts twice as fast as a tree of modules and takes less memory;
 * see docs/architecture.md. A program is left as it is while nothing that it is made of changes.
 */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { bundleProgram, programs, root } from './bundle-program.mjs'
import { projectNode } from './install.mjs'
import { addLoader, makeCodeCache } from './start/code-cache.mjs'

/** Files below a folder of the project that are neither built nor tests. All paths are relative: a copy of the project is as fresh. */
function filesIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() && !each.name.endsWith('.test.ts'))
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
    .filter((path) => !/(?:^|\/)(?:dist|node_modules)\//.test(path))
}

/** Of a file that is gone: 0. */
const timeOf = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
const stampOf = (app) => join(root, 'apps', app, 'dist', '.built')

/** What a program is made of beside its modules. */
const besides = (app) => [
  ...filesIn('scripts'),
  'package-lock.json',
  ...(app === 'cli' ? filesIn('packages/client/src/function') : []),
  // The console takes its modules from the packages, too.
  ...(app === 'identity' ? ['apps/console', 'packages'].flatMap(filesIn) : []),
]

/** Whether it is made of exactly this. */
function isFresh(app) {
  try {
    const built = JSON.parse(readFileSync(stampOf(app), 'utf8'))
    const paths = [...new Set([...Object.keys(built), ...besides(app)])]
    return paths.every((path) => built[path] === timeOf(path))
  } catch {
    // It was not built, or not completely.
    return false
  }
}

async function build(app) {
  const target = join(root, 'apps', app, 'dist')
  rmSync(target, { recursive: true, force: true })
  // Read before: what changes meanwhile is built by the next call.
  const times = new Map(besides(app).map((path) => [path, timeOf(path)]))
  const from = Date.now()
  for (const module of await bundleProgram(app, target)) {
    const path = relative(root, module)
    const time = timeOf(path)
    times.set(path, time < from ? time : 0)
  }
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
    const { build: buildPages } = await import('vite')
    await buildPages({ configFile: join(root, 'apps/console/vite.config.ts') })
  }
  writeFileSync(stampOf(app), JSON.stringify(Object.fromEntries(times)))
}

for (const app of Object.keys(programs)) if (!isFresh(app)) await build(app)
