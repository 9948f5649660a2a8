import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { buildComponent, textOf, worlds } from '../../../../../tests/system/services/components/build.ts'
import { createBuilder } from '../bundler/builder.ts'
import { buildLimits } from '../bundler/limits.ts'
import { createInterfaces } from './host/interfaces.ts'
import { importable } from './importable.ts'
import { isComponent } from './is-component.ts'
import { transpileComponent } from './transpile.ts'

const fileOf = (name: string) =>
  new URL(`../../../../../tests/system/services/components/${name}.wasm`, import.meta.url)
const hello = readFileSync(fileOf('hello'))
/** The same component with another name of the same length in it. */
const renamed = (from: string, to: string) =>
  Buffer.from(hello.toString('latin1').replaceAll(from, to), 'latin1')

it('makes a module of a component, the same each time', async () => {
  const code = await transpileComponent(hello, 'index.wasm')
  expect(code).toContain('export default worker')
  expect(await transpileComponent(hello, 'index.wasm')).toBe(code)
})

it.each([
  [
    'an interface that functions do not have',
    renamed('wasi:cli/stdout@', 'wasi:cli/stduot@'),
    /wasi:cli\/stduot/,
  ],
  [
    'no handler of HTTP',
    renamed('incoming-handler@', 'incoming-hendler@'),
    /exports no wasi:http\/incoming-handler/,
  ],
  ['half of its bytes', hello.subarray(0, hello.length / 2), /not a WebAssembly component/],
  [
    'a core module behind its first bytes',
    Buffer.concat([hello.subarray(0, 8), Buffer.from([1, 4, 1, 0x60, 0, 0])]),
    /not a WebAssembly component/,
  ],
  ['nothing after its first bytes', hello.subarray(0, 8), /exports nothing|no wasi:http/],
])('refuses a component with %s, and names it', async (_, component, message) => {
  await expect(transpileComponent(component, 'index.wasm')).rejects.toThrow(message)
})

it('names the first of many interfaces that functions do not have', async () => {
  const imported = Array.from({ length: 300 }, (_, at) => `acme:host/i${at}@1.0.0`)
  const text = textOf('hello').replace('(module', () => {
    const lines = imported.map((each) => `(import "${each}" "f" (func))`)
    return `(module ${lines.join(' ')}`
  })
  const world = worlds.replace(
    'world hello {',
    `world hello { ${imported.map((each) => `import ${each};`).join(' ')}`,
  )
  const packages = imported.map((_, at) => `interface i${at} { f: func(); }`).join(' ')
  const component = await buildComponent(text, 'hello', `${world} package acme:host@1.0.0 { ${packages} }`)
  await expect(transpileComponent(component, 'index.wasm')).rejects.toThrow(
    /functions do not have: (acme:host\/i\d+, ){4}acme:host\/i\d+ and 295 more\./,
  )
})

it('refuses a component of more bytes than a build may have', async () => {
  const builder = createBuilder({ ...buildLimits, sourceBytes: 100 })
  await expect(builder.transpile(hello, 'index.wasm')).rejects.toThrow(
    `index.wasm has ${hello.length} bytes, and a component may have 100`,
  )
})

it('is tested with components that are built of their sources', async () => {
  for (const name of ['hello', 'counter'] as const)
    expect((await buildComponent(textOf(name), name)).equals(readFileSync(fileOf(name))), name).toBe(true)
})

it('distinguishes components from core modules', () => {
  expect([hello, Buffer.from('\0asm\x01\0\0\0'), Buffer.alloc(0)].map(isComponent)).toEqual([
    true,
    false,
    false,
  ])
})

it('has each interface that it lets a component import', () => {
  const around = { env: {}, storage: {} as never, hasTextCursors: false }
  const { interfaces } = createInterfaces({ signal: new AbortController().signal }, around)
  expect([...importable].sort()).toEqual(Object.keys(interfaces).sort())
})
