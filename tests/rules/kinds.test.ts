/** The place of a test determines what it may need: programs and rights beyond those of an integration test are for `tests/system`. */
import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** What integration tests may need: the other tests of the file run without it. */
const allowed = new Set(['postgres', 'redis-server', 'openssl', 'curl', 'bash'])

const needsOf = (text: string): string[] =>
  [...text.matchAll(/\bneeds\(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(',').map((each) => each.trim().replace(/^'|'$/g, '')),
  )

it('lets only system tests need other programs and rights', () => {
  const files = globSync('tests/**/*.test.ts', {
    exclude: (path) => /node_modules|^tests\/(system|rules)/.test(path),
  })
  expect(files.length).toBeGreaterThan(30)
  const found = files.flatMap((path) =>
    needsOf(readFileSync(path, 'utf8'))
      .filter((each) => !allowed.has(each))
      .map((each) => `${path} needs ${each}: move it to tests/system, or the part that needs it`),
  )
  expect(found).toEqual([])
})

it('names a test of all implementations beside the source as a suite', () => {
  const files = globSync('{packages,apps}/**/*.test.ts', {
    exclude: (path) => /node_modules|templates|-suite/.test(path),
  })
  expect(files.filter((path) => readFileSync(path, 'utf8').includes('describeOnStores'))).toEqual([])
})

/** They share a process: where another file has loaded a module, a mock of what that module imports has no effect. */
it('mocks no modules in unit tests, but for modules of the console that load in browsers alone', () => {
  const files = globSync('{packages,apps}/**/*.test.ts', {
    exclude: (path) => /node_modules|templates|^apps\/console/.test(path),
  })
  expect(files.filter((path) => /\bvi\.(?:do)?[mM]ock\(/.test(readFileSync(path, 'utf8')))).toEqual([])
})
