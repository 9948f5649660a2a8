/** WebAssembly components of wasi:http/proxy as functions: one written by hand, one of AssemblyScript, and one of Rust. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { whereProgramsStart } from '../../harness/limits.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { buildComponent, textOf } from './components/build.ts'

const fileOf = (name: string) => join(root, 'tests/system/services/components', `${name}.wasm`)
const atLimits = { 'MCM.MAX_EXECUTION_TIME_SEC': '2', 'MCM.MEMORY_MB': '192' }

let services: Services
let path: string
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

/** @param component its bytes; without them, the file with the name */
async function deploy(
  name: string,
  env: Record<string, string> = {},
  component: Buffer = readFileSync(fileOf(name)),
) {
  const folder = join(services.stack.state, 'components', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'index.wasm'), component)
  const { archive } = await packFolder(folder, { name })
  const { id: image } = await services.deployImage(archive)
  return services.runtime().deployContainer({
    edgeAccessToken: services.token,
    spec: { name, image, env: { 'MCM.ACCESS': 'public', ...env } },
  })
}

const answerOf = async (at: string) => {
  const { status, text } = await services.call(path + at)
  return { status, text }
}

describe('a component that was written by hand', () => {
  let id: string
  beforeAll(async () => {
    const record = await deploy('hello', atLimits)
    id = record.id
    path = record.basePath
  })
  const logOf = async () => {
    const { lines } = await services
      .runtime()
      .getContainerLogs({ edgeAccessToken: services.token, id, tail: 100 })
    return lines.map(({ text }) => text)
  }

  it('gets the path of a request below its base path, and writes to the log', async () => {
    expect(await answerOf('/a/b?c=d')).toEqual({ status: 200, text: '/a/b?c=d' })
    expect(await answerOf('/log')).toEqual({ status: 200, text: '/log' })
    await expect.poll(() => logOf()).toContain('a line in the log')
  })

  it('gets an error for a header with a line break', async () => {
    expect(await answerOf('/bad')).toEqual({ status: 200, text: 'invalid-syntax' })
  })

  it.each([
    ['trap', 'unreachable'],
    ['none', 'the component set no response'],
    ['fields', 'fields have more than 256 entries'],
  ])('answers with 500 and writes the reason to the log, and continues: /%s', async (at, reason) => {
    expect((await answerOf(`/${at}`)).status).toBe(500)
    await expect.poll(async () => (await logOf()).join('\n')).toContain(reason)
    expect(await answerOf('/over')).toEqual({ status: 200, text: '/over' })
  })

  it('stops to write to callers that leave, also to more than it has instances', async () => {
    const leave = () =>
      new Promise<void>((resolve, reject) => {
        const sent = get(`${services.url()}${path}/many`, (response) => {
          response.once('data', () => sent.destroy())
          response.on('error', () => undefined)
        })
        sent.on('close', resolve).on('error', reject)
      })
    for (let count = 0; count < 20; count++) await leave()
    expect(await answerOf('/over')).toEqual({ status: 200, text: '/over' })
  })

  it('answers to a request with a body that it does not read', async () => {
    const body = Buffer.alloc(600_000)
    const { status, text } = await services.call(`${path}/x`, { method: 'POST', body })
    expect({ status, text }).toEqual({ status: 200, text: '/x' })
  })

  it('breaks an answer off that it does not finish, and continues', async () => {
    await expect(answerOf('/unfinished')).rejects.toThrow(/aborted|hang up|ECONNRESET/)
    expect(await answerOf('/over')).toEqual({ status: 200, text: '/over' })
  })

  it('frees the instances of requests that wait for too long', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => answerOf('/sleep')))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(504))
    expect(await answerOf('/over')).toEqual({ status: 200, text: '/over' })
  })

  it('is stopped when it does not react within its time limit, and runs again', async () => {
    expect((await answerOf('/loop')).status).toBeGreaterThanOrEqual(500)
    await expectStopped('it does not react within its time limit')
  })

  it('is stopped at its limit of memory, and runs again', async () => {
    // With the usual time limit: memory may grow slowly.
    const record = await deploy('hello', { 'MCM.MEMORY_MB': atLimits['MCM.MEMORY_MB'] })
    expect(record.basePath).toBe(path)
    expect((await answerOf('/grow')).status).toBeGreaterThanOrEqual(500)
    await expectStopped('memory')
  })

  async function expectStopped(reason: string): Promise<void> {
    await expect.poll(() => answerOf('/over'), whereProgramsStart).toEqual({ status: 200, text: '/over' })
    await expect.poll(async () => (await logOf()).join('\n'), whereProgramsStart).toContain(reason)
  }
})

describe('a component that fails from its beginning', () => {
  it.each([
    ['never starts', '"memory") 4)', '"memory") 4)\n(func $spin (loop $again (br $again))) (start $spin)'],
    ['needs 4 GiB of memory', '"memory") 4)', '"memory") 65536)'],
  ])('and %s is no trouble for others', async (why, from, to) => {
    const text = textOf('hello').replace(from, to)
    const { basePath } = await deploy(
      why.replaceAll(' ', '-').toLowerCase(),
      atLimits,
      await buildComponent(text, 'hello'),
    )
    expect((await services.call(`${basePath}/`)).status).toBeGreaterThanOrEqual(500)
    expect(await answerOf('/over')).toEqual({ status: 200, text: '/over' })
  })
})

describe('a component of AssemblyScript', () => {
  it('counts in wasi:keyvalue, and fetches only what MCM.OUTBOUND lists', async () => {
    const server = createServer((_, response) => response.end('from outside'))
    const other = createServer((_, response) => response.end('never'))
    const portOf = (each: typeof server) =>
      new Promise<number>((resolve) =>
        each.listen(0, '127.0.0.1', () => resolve((each.address() as AddressInfo).port)),
      )
    const [listed, unlisted] = [await portOf(server), await portOf(other)]
    try {
      const { basePath } = await deploy('counter', { 'MCM.OUTBOUND': `127.0.0.1:${listed}` })
      const textOf = async (query: string) => (await services.call(`${basePath}/${query}`)).text
      expect(await textOf('')).toBe('1 ')
      expect(await textOf(`?127.0.0.1:${listed}`)).toBe('2 from outside')
      expect(await textOf(`?127.0.0.1:${unlisted}`)).toBe('3 refused')
      await services.restart()
      expect(await textOf('')).toBe('4 ')
    } finally {
      server.close()
      other.close()
    }
  })
})

describe('a component of Rust', () => {
  it('reads a long body, with the environment, output and random values of its standard library', async () => {
    const { id, basePath } = await deploy('words', { WORDS: '2' })
    const body = `${'Weft and warp, and weft. '.repeat(20_000)}Selvedge`
    const { status, text } = await services.call(`${basePath}/`, { method: 'POST', body })
    expect({ status, text }).toEqual({ status: 200, text: 'and 40000\nweft 40000\n' })
    const log = services.runtime().getContainerLogs({ edgeAccessToken: services.token, id, tail: 100 })
    expect((await log).lines.map(({ text }) => text)).toContain('100001 words')
  })
})
