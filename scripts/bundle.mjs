/**
 * Bundles each program into `dist/` of its folder. One file starts twice as fast as a tree of modules and takes less memory;
 * see docs/architecture.md. Nothing is done where no source is newer than what was built.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sqliteWorker = join(root, 'packages/service-kit/src/store/platform/sqlite-worker.ts')

/** Entries of each program, by the name of the file that they become. */
const programs = {
  runtime: {
    main: 'src/main.ts',
    'sqlite-worker': sqliteWorker,
    'function-host': 'src/engines/function/platform/main.ts',
    'tar.lazy': 'src/images/tar.lazy.ts',
    'multipart.lazy': 'src/mcm/multipart.lazy.ts',
  },
  identity: {
    main: 'src/main.ts',
    'store-copy': 'src/store-copy.ts',
    'sqlite-worker': sqliteWorker,
    'breached-passwords.lazy': 'src/console/breached-passwords.lazy.ts',
    'webauthn.lazy': 'src/console/webauthn.lazy.ts',
  },
  discovery: { main: 'src/main.ts', 'sqlite-worker': sqliteWorker },
  stack: { main: 'src/main.ts' },
  simulator: { main: 'src/main.ts' },
  cli: { main: 'src/main.ts' },
}

/** The program that hosts functions runs on Deno, and not on Node. */
const isForDeno = (name) => name === 'function-host'

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
  const { rolldown } = await import('rolldown')
  for (const app of stale) {
    const folder = join(root, 'apps', app)
    rmSync(join(folder, 'dist'), { recursive: true, force: true })
    // One bundle an entry: with two in one, a worker would load, and so run, the program that shares code with it.
    for (const [name, path] of Object.entries(programs[app])) {
      const bundle = await rolldown({
        input: path.startsWith('/') ? path : join(folder, path),
        platform: isForDeno(name) ? 'neutral' : 'node',
        resolve: {
          conditionNames: ['source', 'import', 'node', 'default'],
          // `pg` takes it by require and extends it: what `import` gives is no class.
          alias: { 'pg-pool': createRequire(import.meta.url).resolve('pg-pool') },
        },
        external: (id) => id.startsWith('node:') || (id.endsWith('.lazy.ts') && !path.endsWith('.lazy.ts')),
        onLog: (level, log, handle) => (log.code === 'EVAL' ? undefined : handle(level, log)),
      })
      await bundle.write({
        file: join(folder, 'dist', `${name}.${isForDeno(name) ? 'mjs' : 'cjs'}`),
        // An ES module that imports node:http makes Node load its whole WebSocket client at once (17 ms, 5 MB); require does not.
        format: isForDeno(name) ? 'esm' : 'cjs',
        codeSplitting: false,
        paths: (id) => (id.endsWith('.lazy.ts') ? `./${basename(id, '.ts')}.cjs` : id),
        minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
      })
    }
    if (app === 'identity') {
      const { build } = await import('vite')
      await build({ configFile: join(root, 'apps/console/vite.config.ts') })
    }
    writeFileSync(stampOf(app), String(source))
  }
}
