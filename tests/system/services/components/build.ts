/**
 * Makes components of core modules in the WebAssembly text format, with the tools that jco brings along: it needs no network. As a program, it writes the
 * components of the tests: `node tests/system/services/components/build.ts`
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What of `wasm-tools` is used: the package exports it, and has its types in a file of its own. */
interface WasmTools {
  readonly $init: Promise<void>
  readonly tools: {
    parse(text: string): Uint8Array
    componentEmbed(options: {
      readonly binary: Uint8Array
      readonly witSource: string
      readonly world: string
    }): Uint8Array
    componentNew(core: Uint8Array, adapters: readonly never[]): Uint8Array
  }
}

const folder = import.meta.dirname
const root = join(folder, '../../../..')
const toolsFile = join(root, 'node_modules/@bytecodealliance/jco-transpile/vendor/wasm-tools.js')

export const worlds = readFileSync(join(folder, 'worlds.wit'), 'utf8')
export const textOf = (name: 'hello' | 'counter'): string => readFileSync(join(folder, `${name}.wat`), 'utf8')

/** @param text a core module @param world of `witSource` @returns bytes of the component */
export async function buildComponent(text: string, world: string, witSource = worlds): Promise<Buffer> {
  const { $init, tools } = (await import(pathToFileURL(toolsFile).href)) as WasmTools
  await $init
  const core = tools.componentEmbed({ binary: tools.parse(text), witSource, world })
  return Buffer.from(tools.componentNew(core, []))
}

if (process.argv[1] === import.meta.filename)
  for (const name of ['hello', 'counter'] as const)
    writeFileSync(join(folder, `${name}.wasm`), await buildComponent(textOf(name), name))
