/** What a start of the runtime does and does not do before it is ready. No times: they are rows of the bench. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeCodeCache, programIn } from '../../../scripts/start/code-cache.mjs'
import { root, startProgram, temporaryFolder } from '../../harness/processes.ts'

const dist = join(root, 'apps/runtime/dist')
const nowhere = 'http://127.0.0.1:9'
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => folder.remove())

const environment = (state: string) => ({
  SELVEDGE_STATE: state,
  SELVEDGE_RUNTIME_PORT: '0',
  SELVEDGE_IDENTITY_URL: nowhere,
  SELVEDGE_DISCOVERY_URL: nowhere,
})

interface Report {
  readonly loaded: readonly string[]
  readonly bundles: readonly string[]
  readonly syncs: number
}

/** Starts the runtime and stops it. Gives what was loaded, and the calls of fsync, until it said that it is ready. */
async function watchStart(state: string): Promise<Report> {
  const watch = join(root, 'tests/system/start/watch-start.cjs')
  const child = spawn(process.execPath, ['--require', watch, join(dist, 'main.cjs')], {
    env: { ...environment(state), SELVEDGE_LINK_LOCAL: 'false' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  const [report] = (await Promise.race([once(child, 'message'), ended])) as [Report]
  child.kill('SIGTERM')
  await ended
  return report
}

describe('until it is ready, the runtime', () => {
  let first: Report
  let second: Report
  beforeAll(async () => {
    const state = join(folder.path, 'watched')
    first = await watchStart(state)
    second = await watchStart(state)
  })

  it('starts no program and no thread', () => {
    for (const name of ['child_process', 'internal/child_process', 'worker_threads'])
      expect(second.loaded).not.toContain(name)
  })

  it('opens no link-local socket and loads no TLS, HTTP/2, WebSocket or fetch', () => {
    const parts = [
      'dgram',
      'tls',
      'https',
      'http2',
      'internal/deps/undici/undici',
      'dns/promises',
      'inspector',
    ]
    for (const name of parts) expect(second.loaded).not.toContain(name)
  })

  it('loads no bundle for certain requests or settings', () => {
    expect(second.bundles).toEqual(['main.cjs'])
  })

  it('writes nothing where its state is as it was left', () => {
    // Folders are synced: an earlier run may not have come so far.
    expect(second.syncs).toBeLessThan(first.syncs)
    expect(second.syncs).toBeLessThanOrEqual(8)
  })
})

describe('the code cache of the runtime', () => {
  /** A copy of the program, to break. */
  function copyOf(name: string): { checkout: string; path: string } {
    const checkout = join(folder.path, name)
    cpSync(dist, join(checkout, 'apps/runtime/dist'), { recursive: true })
    return { checkout, path: programIn(join(checkout, 'apps/runtime/dist')) }
  }

  async function expectStart(checkout: string): Promise<void> {
    const runtime = await startProgram('runtime', environment(join(checkout, 'state')), [], { checkout })
    const body = '{"jsonrpc":"2.0","method":"getMe","id":1}'
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch(`${runtime.url}/jsonrpc/v1`, { method: 'POST', headers, body })
    expect(await answer.json()).toMatchObject({ id: 1, result: { nodeId: expect.any(String) } })
    await runtime.stop()
  }

  /** Writes a cache of another program of the same length, which ends with exit code 99: V8 compares lengths only. */
  function plant(path: string): void {
    const text = '(function () { process.exit(99) })'.padEnd(readFileSync(`${path}.js`).length)
    writeFileSync(`${path}.other`, text)
    const make = `const { readFileSync, writeFileSync } = require('node:fs')
      const script = new (require('node:vm').Script)(readFileSync(process.argv[1] + '.other', 'latin1'))
      script.runInThisContext()
      writeFileSync(process.argv[1] + '.cache', script.createCachedData())`
    expect(spawnSync(process.execPath, ['-e', make, path]).status).toBe(0)
  }

  it('is accepted by the Node.js of the project', () => {
    const check = join(root, 'scripts/start/check-cache.cjs')
    expect(spawnSync(process.execPath, [check, programIn(dist)], { encoding: 'utf8' }).stderr).toBe('')
  })

  it('has the same bytes when it is made again, at another place', () => {
    const { path } = copyOf('again')
    makeCodeCache(join(path, '..'))
    expect(readFileSync(`${path}.cache`).equals(readFileSync(`${programIn(dist)}.cache`))).toBe(true)
  })

  it('is not needed: without one, with half of one and with one of another version the runtime starts', async () => {
    const { checkout, path } = copyOf('broken')
    truncateSync(`${path}.cache`, 300_000)
    await expectStart(checkout)
    const bytes = readFileSync(`${programIn(dist)}.cache`)
    // The digest of the version of V8.
    bytes[4]! ^= 1
    writeFileSync(`${path}.cache`, bytes)
    await expectStart(checkout)
    writeFileSync(`${path}.cache`, '')
    await expectStart(checkout)
  })

  it('is code, and is not run if others than the owner of the program could write it', async () => {
    const { checkout, path } = copyOf('planted')
    plant(path)
    chmodSync(`${path}.cache`, 0o644)
    const args = [join(checkout, 'apps/runtime/dist/main.cjs')]
    const env = environment(join(checkout, 'state'))
    expect(spawnSync(process.execPath, args, { env, timeout: 60_000 }).status).toBe(99)
    for (const mode of [0o664, 0o646]) {
      chmodSync(`${path}.cache`, mode)
      await expectStart(checkout)
    }
  })

  it.skipIf(process.getuid?.() !== 0)('is not run if it belongs to another user', async () => {
    const { checkout, path } = copyOf('foreign')
    plant(path)
    chmodSync(`${path}.cache`, 0o644)
    chownSync(`${path}.cache`, 12_345, 12_345)
    await expectStart(checkout)
  })
})
