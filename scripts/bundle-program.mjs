/** How one program is bundled: each entry is a file of its own. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lazyBuiltins } from './start/lazy-builtins.mjs'
import { lazySchemas } from './start/lazy-schemas.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sqliteWorker = join(root, 'packages/service-kit/src/store/platform/sqlite-worker.ts')
const metrics = join(root, 'packages/service-kit/src/metrics/metrics.lazy.ts')
const ws = join(root, 'packages/service-kit/src/websocket/ws.lazy.ts')
const otlp = join(root, 'packages/service-kit/src/otel/otlp.lazy.ts')

const transpilerFolder = join(root, 'node_modules/@bytecodealliance/jco-transpile/vendor')

/** Entries of each program, by the name of the file that they become. */
export const programs = {
  runtime: {
    main: 'src/main.ts',
    'sqlite-worker': sqliteWorker,
    'function-host': 'src/services/engines/function/platform/main.ts',
    'metrics.lazy': metrics,
    'otlp.lazy': otlp,
    'tar.lazy': 'src/services/images/tar.lazy.ts',
    'multipart.lazy': 'src/api/mcm/multipart.lazy.ts',
    'croner.lazy': 'src/services/schedules/croner.lazy.ts',
    'yaml.lazy': 'src/services/engines/oci/cdi/yaml.lazy.ts',
    'ws.lazy': ws,
  },
  identity: {
    main: 'src/main.ts',
    'store-copy': 'src/store-copy.ts',
    'store-backup': 'src/store-backup.ts',
    'sqlite-worker': sqliteWorker,
    'metrics.lazy': metrics,
    'otlp.lazy': otlp,
    'breached-passwords.lazy': 'src/registry/credentials/breached-passwords.lazy.ts',
    'webauthn.lazy': 'src/registry/credentials/webauthn.lazy.ts',
    'openid-client.lazy': 'src/tokens/company/openid-client.lazy.ts',
  },
  discovery: {
    main: 'src/main.ts',
    'store-backup': 'src/store-backup.ts',
    'sqlite-worker': sqliteWorker,
    'metrics.lazy': metrics,
    'otlp.lazy': otlp,
  },
  stack: { main: 'src/main.ts' },
  simulator: { main: 'src/main.ts' },
  cli: {
    main: 'src/main.ts',
    bundler: 'src/archive/bundler/main.ts',
    'yaml.lazy': 'src/compose/yaml.lazy.ts',
    // Parts of the functions that components become, and what makes them: no program of Node.js.
    'component-host': 'src/archive/component/host/worker.ts',
    transpiler: join(transpilerFolder, 'js-component-bindgen-component.js'),
  },
}

/** The WebAssembly of the transpiler is read from beside its bundle. */
function copyModules(target) {
  for (const part of ['core', 'core2']) {
    const name = `js-component-bindgen-component.${part}.wasm`
    cpSync(join(transpilerFolder, name), join(target, name))
  }
}

/** V8 stores a source with one character beyond Latin-1 as two bytes a character: 600 kB of the runtime's memory. */
function escapeNonAscii(path) {
  const text = readFileSync(path, 'utf8')
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  writeFileSync(path, text.replace(/[^\0-\x7f]/g, escaped))
}

/** The program that hosts functions runs on Deno, and not on Node; parts of functions run there too, and the transpiler anywhere. */
const isForDeno = (name) => name === 'function-host' || name === 'component-host' || name === 'transpiler'

/** Bundles that are no programs of Node.js in CommonJS: how they end, and their format. */
const formats = {
  'function-host': ['mjs', 'esm'],
  // A script: it is put before the code of a component, in one file.
  'component-host': ['js', 'iife'],
  transpiler: ['mjs', 'esm'],
}

/**
 * One bundle an entry: with two in one, a worker would load, and so run, the program that shares code with it.
 *
 * @param {keyof typeof programs} app
 * @param {string} target folder of the bundles
 * @param {object[]} plugins of the bundler
 * @returns paths of the modules that it is made of
 */
export async function bundleProgram(app, target, plugins = []) {
  const { rolldown } = await import('rolldown')
  const modules = new Set()
  for (const [name, path] of Object.entries(programs[app])) {
    const bundle = await rolldown({
      input: path.startsWith('/') ? path : join(root, 'apps', app, path),
      platform: isForDeno(name) ? 'neutral' : 'node',
      plugins: isForDeno(name) ? plugins : [...plugins, lazySchemas, lazyBuiltins],
      resolve: {
        // The transpiler needs no files: in its variant for Node.js, its file system would start a thread.
        conditionNames: ['source', 'import', ...(name === 'transpiler' ? [] : ['node']), 'default'],
        // `pg` takes it by require and extends it: what `import` gives is no class.
        alias: { 'pg-pool': createRequire(import.meta.url).resolve('pg-pool') },
      },
      external: (id) =>
        id.startsWith('node:') ||
        id === 'rolldown' ||
        (id.endsWith('.lazy.ts') && !path.endsWith('.lazy.ts')),
      onLog(level, log, handle) {
        // For example a builder of zod that the stand-in does not list.
        if (log.code === 'IMPORT_IS_UNDEFINED') throw new Error(log.message)
        // "use components" of the transpiler, which means nothing to Node.js.
        if (log.code !== 'EVAL' && log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log)
      },
    })
    const [ending, format] = formats[name] ?? ['cjs', 'cjs']
    const file = join(target, `${name}.${ending}`)
    const { output } = await bundle.write({
      file,
      // An ES module that imports node:http makes Node load its whole WebSocket client at once (17 ms, 5 MB); require does not.
      format,
      ...(format === 'iife' && { name: 'selvedgeComponent' }),
      codeSplitting: false,
      // Of the lazy bundles: `require` needs no loader of ES modules.
      dynamicImportInCjs: false,
      paths: (id) => (id.endsWith('.lazy.ts') ? `./${basename(id, '.ts')}.cjs` : id),
      minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    })
    escapeNonAscii(file)
    if (name === 'transpiler') copyModules(target)
    // Some are made up by the bundler, and are no files.
    for (const each of output.flatMap((chunk) => chunk.moduleIds ?? []))
      if (existsSync(each)) modules.add(each)
  }
  return [...modules]
}
