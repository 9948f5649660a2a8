/** Stack traces of functions: the lines of their author, and what a hostile source map can do. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

const inline = (map: unknown): string =>
  `\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,${Buffer.from(typeof map === 'string' ? map : JSON.stringify(map)).toString('base64')}`
/** The third line of the bundle is line 41 of `src/index.ts`, from its column 9 on. */
const map = { version: 3, names: [], sources: ['src/index.ts'], mappings: ';;AAwCQ' }
const worker = `export default {
  fetch() {
throw new Error('on purpose')
  },
}`
const handler = `mimikModule.exports = function hello() {

throw new Error('on purpose')
}`

/** The log of a function after a request that it failed. */
async function logOf(source: string): Promise<string> {
  const { id, basePath } = await services.deploy('traced', source)
  expect((await services.call(basePath)).status).toBe(500)
  let log = ''
  await expect
    .poll(async () => {
      const { lines } = await services
        .runtime()
        .getContainerLogs({ edgeAccessToken: services.token, id, tail: 100 })
      log = lines.map(({ text }) => text).join('\n')
      return log
    })
    .toMatch(/on purpose(?:.|\n)*\n {4}at /)
  await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
  return log
}

describe('the log of a function that throws', () => {
  it.each([
    ['module worker', worker],
    ['handler', handler],
  ])('names file, line and column of the author: %s', async (_, source) => {
    expect(await logOf(source + inline(map))).toMatch(
      /Error: on purpose\n {4}at \S* ?\(?src\/index\.ts:41:9\)?/,
    )
  })

  it('names index.js for a function without a map', async () => {
    expect(await logOf(worker)).toMatch(/Error: on purpose\n {4}at \S* ?\(?index\.js:3:7\)?/)
    expect(await logOf(handler)).toMatch(/Error: on purpose\n {4}at hello \(index\.js:3:7\)/)
  })

  it.each([
    ['names with control characters', inline({ ...map, sources: ['a\u001b[2J\nforged line'] })],
    ['a map that is not valid', inline('{')],
    [
      'a stack function of its own that throws',
      `\n;Error.prepareStackTrace = () => { throw new Error('no') }`,
    ],
    ['broken globals', '\n;Array.prototype.push = String.prototype.split = () => { throw new Error("no") }'],
  ])('is only about its own lines, whatever it brings: %s', async (_, more) => {
    const { id, basePath } = await services.deploy('hostile', handler + more)
    expect((await services.call(basePath)).status).toBe(500)
    // Another function, and the runtime, are as before.
    expect(await logOf(worker + inline(map))).toContain('src/index.ts:41:9')
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
  })
})
