/** The names of a function's own modules are names of Node.js: an import of another one is an error of the build. */
import { expect, it } from 'vitest'
import { ownModules } from './own-modules.ts'

it.each(Object.entries(ownModules))('%s has names of Node.js, each once', (name, names) => {
  const platform = process.getBuiltinModule(`node:${name}`) as object
  expect(names.filter((each) => !(each in platform))).toEqual([])
  expect(new Set(names).size).toBe(names.length)
})

it.each([
  ['fs', ['readFile', 'readFileSync', 'createWriteStream', 'promises', 'constants', 'existsSync']],
  ['fs/promises', ['open', 'readFile', 'mkdir', 'constants']],
  ['os', ['hostname', 'tmpdir', 'EOL', 'cpus', 'constants']],
  ['dns', ['lookup', 'resolve4', 'promises', 'NOTFOUND', 'ADDRCONFIG']],
  ['dns/promises', ['lookup', 'Resolver']],
  ['process', ['env', 'nextTick', 'versions']],
])('%s has what packages import', (name, used) => {
  expect(ownModules[name]).toEqual(expect.arrayContaining(used))
})
