/** How one program is bundled: each entry is a file of its own. */
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sqliteWorker = join(root, 'packages/service-kit/src/store/platform/sqlite-worker.ts')

/** Entries of each program, by the name of the file that they become. */
export const programs = {
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

/**
 * One bundle an entry: with two in one, a worker would load, and so run, the program that shares code with it.
 *
 * @param {keyof typeof programs} app
 * @param {string} target folder of the bundles
 * @param {object[]} plugins of the bundler
 */
export async function bundleProgram(app, target, plugins = []) {
  const { rolldown } = await import('rolldown')
  for (const [name, path] of Object.entries(programs[app])) {
    const bundle = await rolldown({
      input: path.startsWith('/') ? path : join(root, 'apps', app, path),
      platform: isForDeno(name) ? 'neutral' : 'node',
      plugins,
      resolve: {
        conditionNames: ['source', 'import', 'node', 'default'],
        // `pg` takes it by require and extends it: what `import` gives is no class.
        alias: { 'pg-pool': createRequire(import.meta.url).resolve('pg-pool') },
      },
      external: (id) => id.startsWith('node:') || (id.endsWith('.lazy.ts') && !path.endsWith('.lazy.ts')),
      onLog: (level, log, handle) => (log.code === 'EVAL' ? undefined : handle(level, log)),
    })
    await bundle.write({
      file: join(target, `${name}.${isForDeno(name) ? 'mjs' : 'cjs'}`),
      // An ES module that imports node:http makes Node load its whole WebSocket client at once (17 ms, 5 MB); require does not.
      format: isForDeno(name) ? 'esm' : 'cjs',
      codeSplitting: false,
      paths: (id) => (id.endsWith('.lazy.ts') ? `./${basename(id, '.ts')}.cjs` : id),
      minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    })
  }
}
