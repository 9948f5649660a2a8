/** What is in the place of modules that a package can work without. */
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import {
  absentModule,
  isNativeLoader,
  mayBeAbsent,
  nativeModule,
  packageOfFile,
  sourceInPlace,
} from './absent.ts'

const own = '/home/own/index.ts'
const packed = '/home/own/node_modules/tries/index.js'

it.each([
  ['require-call', packed, true],
  ['dynamic-import', packed, true],
  ['import-statement', packed, false],
  ['require-call', own, false],
  ['dynamic-import', own, false],
])('a module may be absent where a package requests it when it runs: %s in %s', (kind, importer, may) => {
  expect(mayBeAbsent(kind, importer)).toBe(may)
})

it.each([
  [own, undefined],
  [packed, 'tries'],
  ['/home/node_modules/@scope/name/lib/index.js', '@scope/name'],
  ['/home/node_modules/outer/node_modules/inner/index.js', 'inner'],
  ['/home/own/node_modules.ts', undefined],
])('the package of %s is %s', (path, name) => {
  expect(packageOfFile(path)).toBe(name)
})

it.each(['bindings', 'node-gyp-build', '@mapbox/node-pre-gyp'])('%s loads native code', (name) => {
  expect(isNativeLoader(name)).toBe(true)
  expect(isNativeLoader(`${name}-more`)).toBe(false)
})

describe('the source in place', () => {
  const run = (id: string, use = '') =>
    runInContext(`${sourceInPlace(id)};${use}`, createContext({ module: { exports: undefined } }))

  it('of what is absent fails when it is loaded, as in Node.js', () => {
    expect(() => run(absentModule('x/"y"'))).toThrow(
      expect.objectContaining({ code: 'MODULE_NOT_FOUND', message: `Cannot find module 'x/"y"'` }),
    )
  })

  it('of native code fails when it is used', () => {
    const failure = expect.objectContaining({
      name: 'NativeCodeError',
      code: 'ERR_DLOPEN_FAILED',
      message: 'bindings loads native code, which functions cannot run',
    })
    run(nativeModule('bindings'), 'module.exports("name").open')
    expect(() => run(nativeModule('bindings'), 'module.exports("name").open()')).toThrow(failure)
    expect(() => run(nativeModule('bindings'), 'module.exports.find()')).toThrow(failure)
  })

  it('is that of no other module', () => {
    expect(sourceInPlace(packed)).toBeUndefined()
    expect(sourceInPlace('\0other')).toBeUndefined()
  })
})
