/**
 * The packages for arm64, emulated by qemu-user: the runtime, the identity service and the command line, with their own Node.js. Functions
 * are not run: for them the kernel itself would have to start programs for arm64.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRuntimeClient } from '@selvedge/client'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { products } from '../../../packaging/products.ts'
import { findEngine } from '../../../packaging/tree/engines.ts'
import { makeTree } from '../../../packaging/tree/tree.ts'
import { createDeveloper } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'

const emulated = { PATH: process.env.PATH, QEMU_LD_PREFIX: '/usr/aarch64-linux-gnu' }
/** What is emulated of each: the runtime with the command line, and the identity service. */
const emulatedProducts = ['selvedge', 'selvedge-identity']
const release = {
  version: '1.2.3',
  epochSeconds: 1_700_000_000,
  maintainer: { name: 'Jane Doe', email: 'jane@example.com' },
}

describe('for arm64', needs('qemu-aarch64-static'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  const daemons: ChildProcess[] = []
  const at = (...path: string[]) => join(folder.path, ...path)
  let env: Record<string, string | undefined>
  let url: string

  beforeAll(async () => {
    folder = await temporaryFolder()
    execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs')])
    for (const product of products.filter(({ name }) => emulatedProducts.includes(name)))
      makeTree(product, 'arm64', release, at(product.name))
    const [runtimePort, identityPort] = [await freePort(), await freePort()]
    url = `http://127.0.0.1:${runtimePort}`
    mkdirSync(at('state'), { mode: 0o700 })
    env = {
      ...emulated,
      SELVEDGE_STATE: at('state'),
      XDG_CONFIG_HOME: at('config'),
      SELVEDGE_RUNTIME_PORT: String(runtimePort),
      SELVEDGE_IDENTITY_PORT: String(identityPort),
      SELVEDGE_LINK_LOCAL: 'false',
      SELVEDGE_IDENTITY_URL: `http://127.0.0.1:${identityPort}`,
      SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9',
    }
  }, 300_000)
  afterAll(async () => {
    for (const each of daemons) {
      if (each.exitCode !== null || each.signalCode !== null) continue
      each.kill()
      await once(each, 'exit')
    }
    await folder.remove()
  })

  /** Resolves when it is ready. */
  async function start(product: string, program: 'runtime' | 'identity'): Promise<void> {
    const args = [at(product, 'node'), at(product, program, 'dist/main.cjs')]
    const child = spawn('qemu-aarch64-static', args, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    daemons.push(child)
    const exited = once(child, 'exit').then(([code]) => {
      throw new Error(`${program} exited with ${code}`)
    })
    exited.catch(() => undefined)
    await Promise.race([once(child, 'message'), exited])
  }
  const selvedge = async (...args: string[]) => {
    const program = [at('selvedge/node'), at('selvedge/cli/dist/main.cjs'), ...args]
    const { stdout } = await promisify(execFile)('qemu-aarch64-static', program, { env })
    return stdout
  }

  it.each([
    ['node', ['-p', 'process.arch'], 'arm64\n'],
    ['deno', ['eval', 'console.log(Deno.build.arch)'], 'aarch64\n'],
  ] as const)('%s runs a program', (engine, args, expected) => {
    const { program } = findEngine(engine, 'arm64')
    const out = execFileSync('qemu-aarch64-static', [program, ...args], { encoding: 'utf8', env: emulated })
    expect(out).toBe(expected)
  })

  it('a device enrols, joins an account and is diagnosed', { timeout: 300_000 }, async () => {
    await start('selvedge-identity', 'identity')
    await start('selvedge', 'runtime')
    // The emulated runtime needs its time.
    const runtime = createRuntimeClient({ url, timeoutMs: 60_000 })
    const { nodeId } = await runtime.getMe()
    const edgeToken = () => runtime.getEdgeIdToken().then(({ id_token: token }) => token, String)
    await expect.poll(edgeToken, { timeout: 120_000 }).toMatch(/^eyJ/)
    const { accountId, clientId, idToken } = await createDeveloper(at('state'))
    writeFileSync(at('token'), idToken, { mode: 0o600 })
    await selvedge('account', 'associate', '--developer-token-file', at('token'), '--client-id', clientId)
    expect(await runtime.getMe()).toMatchObject({ nodeId, accountId })
    const { checks } = JSON.parse(await selvedge('doctor', '--json'))
    const failed = checks.filter(({ ok }: { ok: boolean }) => !ok).map(({ name }: { name: string }) => name)
    expect(failed).not.toContain('runtime')
    expect(failed).not.toContain('identity')
  })
})
