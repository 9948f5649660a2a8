/**
 * Makes a function of a WebAssembly component of `wasi:http/proxy` (WASI 0.2): a module worker in one file, with what jco generates from
 * the component, its core modules, and the interfaces that it imports. It runs in the process of the bundler, which has limits.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { deflateRawSync } from 'node:zlib'
import { BuildFailure } from '../bundler/bundle.ts'
import { importable } from './importable.ts'

/** What of the transpiler of jco is used: it has types only beside its code, in a folder that it does not export. */
interface Transpiler {
  readonly $init: Promise<void>
  generate(component: Uint8Array, options: Readonly<Record<string, unknown>>): Transpiled
}

interface Transpiled {
  readonly files: readonly (readonly [name: string, content: Uint8Array])[]
  readonly imports: readonly string[]
  readonly exports: readonly (readonly [name: string, type: unknown])[]
}

/** A file of the bundled command line, also for the sources. */
const bundled = (name: string): string =>
  fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? `../../../dist/${name}` : `./${name}`, import.meta.url),
  )

/** What blocks in the interfaces: the engine suspends the component meanwhile (JSPI). */
const blocking = [
  'wasi:io/poll#poll',
  'wasi:io/poll#[method]pollable.block',
  ...[
    'input-stream.blocking-read',
    'input-stream.blocking-skip',
    'output-stream.blocking-flush',
    'output-stream.blocking-write-and-flush',
    'output-stream.blocking-write-zeroes-and-flush',
    'output-stream.blocking-splice',
  ].map((name) => `wasi:io/streams#[method]${name}`),
]

const handlerName = /^wasi:http\/incoming-handler@0\.2\.\d+$/

/** The name that its code gives to the function that it exports. */
const exported = /^export function instantiate\(/m

/** Looked up many times a call, in an environment that is the user's. */
const debugging = 'globalThis?.process?.env?.JCO_DEBUG'

/**
 * @param component bytes of a component
 * @returns the source of a module worker
 * @throws BuildFailure for a component that no function can be made of
 */
export async function transpileComponent(component: Uint8Array, file: string): Promise<string> {
  const { $init, generate } = (await import(bundled('transpiler.mjs'))) as Transpiler
  await $init
  let made: Transpiled
  try {
    made = generate(component, {
      name: 'component',
      noTypescript: true,
      noNodejsCompat: true,
      base64Cutoff: 0,
      noComponentErrorWrapping: true,
      instantiation: { tag: 'async' },
      asyncMode: { tag: 'jspi', val: { imports: blocking, exports: ['wasi:http/incoming-handler#handle'] } },
    })
  } catch (cause) {
    throw new BuildFailure({ text: `not a WebAssembly component that can be read: ${describe(cause)}`, file })
  }
  const handler = made.exports.map(([name]) => name).find((name) => handlerName.test(name))
  if (handler === undefined)
    throw new BuildFailure({
      text: `the component exports no wasi:http/incoming-handler of WASI 0.2 (it exports ${listed(made.exports.map(([name]) => name))}): build it for the world wasi:http/proxy`,
      file,
    })
  const missing = made.imports.filter((name) => !importable.has(name))
  if (missing.length > 0)
    throw new BuildFailure({
      text: `the component imports what functions do not have: ${listed(missing)}. docs/services.md lists the interfaces`,
      file,
    })
  return assemble(made.files, handler, component)
}

/** The file of the function. Its parts are scripts in functions of their own, so that no name meets another one. */
function assemble(
  files: readonly (readonly [name: string, content: Uint8Array])[],
  handler: string,
  component: Uint8Array,
): string {
  const host = readFileSync(bundled('component-host.js'), 'utf8')
  const code = textOf(files.find(([name]) => name === 'component.js')![1])
  if (!exported.test(code)) throw new Error('jco generated code without "instantiate"')
  const inner = code
    .replace(exported, 'function instantiate(')
    .replace(/^export const _util =/m, 'const _util =')
    .replaceAll(debugging, 'false')
  const modules = files.flatMap(([name, content]) =>
    name.endsWith('.wasm') ? [[name, deflateRawSync(content, { level: 9 }).toString('base64')] as const] : [],
  )
  const described = {
    handler,
    hasTextCursors: Buffer.from(component).includes('wasi:keyvalue/store@0.2.0-draft2'),
    modules: Object.fromEntries(modules),
  }
  return `${host}
const instantiate = (() => {
${inner}
return instantiate
})()
const worker = selvedgeComponent.createWorker({ instantiate, ...${JSON.stringify(described)} })
await worker.ready
export default worker
`
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** The first few of many names; each may be long. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, 5).map((name) => name.slice(0, 100))
  const others = names.length - shown.length
  return shown.length === 0 ? 'nothing' : shown.join(', ') + (others > 0 ? ` and ${others} more` : '')
}

/** The first line of what a transpiler threw, which is a text in `payload` or a trap. */
function describe(cause: unknown): string {
  const { payload, message } = cause as { payload?: unknown; message?: string }
  return String(payload ?? message ?? cause)
    .split('\n', 1)[0]!
    .slice(0, 300)
}
