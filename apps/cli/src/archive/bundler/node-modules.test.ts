/** Which imports are modules of Node.js, and what is in their place. */
import { expect, it } from 'vitest'
import { collectNodeModules, nodeModule, nodeModuleInScript, requireOfNode } from './node-modules.ts'
import { ownModules } from './own-modules.ts'

it.each([
  ['fs', 'node:fs'],
  ['node:fs', 'node:fs'],
  ['fs/promises', 'node:fs/promises'],
  ['node:sqlite', 'node:sqlite'],
  ['sqlite', undefined],
  ['fs/', undefined],
  ['hono', undefined],
  ['node:absent', undefined],
  ['./fs', undefined],
])('%s is %s', (specifier, id) => {
  expect(nodeModule(specifier)).toBe(id)
})

it('is what CommonJS requires in a bundle', () => {
  const found = new Function('process', `${requireOfNode}\nreturn require('node:fs')`)({
    getBuiltinModule: (id: string) => `found ${id}`,
  })
  expect(found).toBe('found node:fs')
})

it('is an expression in a script', () => {
  expect(nodeModuleInScript('node:fs')).toBe('process.getBuiltinModule("node:fs")')
})

it('stays an import, but for those that the function has of its own; CommonJS needs a way to it', () => {
  const { plugin, isRequired } = collectNodeModules()
  const resolve = (specifier: string, kind: string) =>
    (plugin.resolveId as (...given: unknown[]) => unknown)(specifier, '/own/index.js', { kind })
  expect(resolve('hono', 'require-call')).toBeNull()
  expect(resolve('zlib', 'import-statement')).toEqual({ id: 'node:zlib', external: true })
  const own = resolve('process', 'import-statement')
  expect(own).toMatch(/^\0/)
  expect(isRequired()).toBe(false)
  expect(resolve('process', 'require-call')).toEqual({ id: 'node:process', external: true })
  expect(isRequired()).toBe(true)
  const load = (id: unknown) => (plugin.load as (id: unknown) => unknown)(id)
  expect(load(own)).toMatch(
    /globalThis\.process\nexport default own\nexport const \{ arch, (?:\w+, )*env, (?:\w+, )*versions \} = own\n/,
  )
  expect(load('/own/index.js')).toBeNull()
})

it.each(Object.keys(ownModules))(
  'of its own, such as %s, is what the sandbox gives when the function is loaded',
  (name) => {
    const { plugin } = collectNodeModules()
    const id = (plugin.resolveId as (...given: unknown[]) => unknown)(`node:${name}`, '/own/index.js', {
      kind: 'import-statement',
    })
    const source = String((plugin.load as (id: unknown) => unknown)(id))
    expect(source).toContain(
      name === 'process'
        ? 'const own = globalThis.process\n'
        : `const own = process.getBuiltinModule("node:${name}")\n`,
    )
    const names = source.match(/export const \{ (.*) \} = own/)![1]!.split(', ')
    expect(names).toEqual(ownModules[name])
  },
)

it('of the Sockets API is the connect() that the sandbox has', () => {
  const { plugin } = collectNodeModules()
  const id = (plugin.resolveId as (...given: unknown[]) => unknown)('cloudflare:sockets', '/own/index.js', {
    kind: 'import-statement',
  })
  expect(id).toMatch(/^\0/)
  expect((plugin.load as (id: unknown) => unknown)(id)).toBe(
    'export const connect = (address, options) => globalThis.connect(address, options)\n',
  )
})
