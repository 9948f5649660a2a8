import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createInterfaces } from './host/interfaces.ts'
import { importable } from './importable.ts'
import { isComponent } from './is-component.ts'
import { transpileComponent } from './transpile.ts'

const hello = readFileSync(
  new URL('../../../../../tests/system/services/components/hello.wasm', import.meta.url),
)
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
  ['half of its bytes', hello.subarray(0, hello.length / 2), /not a component/],
  ['nothing after its first bytes', hello.subarray(0, 8), /exports nothing|no wasi:http/],
])('refuses a component with %s, and names it', async (_, component, message) => {
  await expect(transpileComponent(component, 'index.wasm')).rejects.toThrow(message)
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
