/** WebAssembly components of wasi:http/proxy as functions: one written by hand, and one of AssemblyScript. */
import { copyFileSync, mkdirSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { packFolder } from '../../../apps/cli/src/archive/pack.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

async function deploy(name: string, env: Record<string, string> = {}) {
  const folder = join(services.stack.state, 'components', name)
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(root, 'tests/system/services/components', `${name}.wasm`), join(folder, 'index.wasm'))
  const { archive } = await packFolder(folder, { name })
  const { id: image } = await services.deployImage(archive)
  return services.runtime().deployContainer({
    edgeAccessToken: services.token,
    spec: { name, image, env: { 'MCM.ACCESS': 'public', ...env } },
  })
}

describe('a component that was written by hand', () => {
  let id: string
  let path: string
  beforeAll(async () => {
    const limits = { 'MCM.MAX_EXECUTION_TIME_SEC': '3', 'MCM.MEMORY_MB': '192' }
    const record = await deploy('hello', limits)
    id = record.id
    path = record.basePath
  })
  const answerOf = async (at: string) => {
    const { status, text } = await services.call(path + at)
    return { status, text }
  }
  const logOf = async () => {
    const { lines } = await services
      .runtime()
      .getContainerLogs({ edgeAccessToken: services.token, id, tail: 100 })
    return lines.map(({ text }) => text)
  }

  it('gets the path of a request below its base path, and writes to the log', async () => {
    expect(await answerOf('/a/b?c=d')).toEqual({ status: 200, text: '/a/b?c=d' })
    expect(await answerOf('/log')).toEqual({ status: 200, text: '/log' })
    await vi.waitFor(async () => expect(await logOf()).toContain('a line in the log'))
  })

  it('gets an error for a header with a line break', async () => {
    expect(await answerOf('/bad')).toEqual({ status: 200, text: 'invalid-syntax' })
  })

  it.each([
    ['trap', 'unreachable'],
    ['none', 'the component set no response'],
  ])('answers with 500 and writes the reason to the log, and goes on: /%s', async (at, reason) => {
    expect((await answerOf(`/${at}`)).status).toBe(500)
    await vi.waitFor(async () => expect((await logOf()).join('\n')).toContain(reason))
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
