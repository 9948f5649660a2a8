/** What docs/compatibility.md promises of the version before this one: its state, its clients, and runtimes beside newer services. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage, writeFile } from '../../harness/archives.ts'
import { cliEnvOf } from '../../harness/cli.ts'
import { accessToken, adminOf, createDeveloper, type Developer, runtimeOf } from '../../harness/flow.ts'
import {
  freePorts,
  type Program,
  root,
  type Stack,
  startProgram,
  startStack,
} from '../../harness/processes.ts'
import { callUrl } from '../../harness/services.ts'
import { buildPreviousVersion, hasPreviousVersion } from './previous-version.ts'

/** Counts its calls, in its storage. */
const counter = `export default { fetch(request, env, context) {
  const n = Number(context.storage.getItem('n') || 0) + 1
  context.storage.setItem('n', String(n))
  return new Response(String(n))
} }`

describe.skipIf(!hasPreviousVersion())('the previous version', { timeout: 300_000 }, () => {
  let previous: string
  let stack: Stack
  let developer: Developer
  let state: string
  let runtime: Program | undefined

  beforeAll(async () => {
    previous = buildPreviousVersion()
    stack = await startStack()
    developer = await createDeveloper(stack.state)
    state = mkdtempSync(join(tmpdir(), 'selvedge-upgrade-'))
  }, 300_000)
  afterAll(async () => {
    await runtime?.stop()
    await stack?.stop()
    rmSync(state, { recursive: true, force: true })
  })

  /** Starts a runtime of a version on the same state. */
  async function start(checkout: string) {
    await runtime?.stop()
    runtime = await startProgram(
      'runtime',
      {
        ...freePorts,
        SELVEDGE_STATE: state,
        SELVEDGE_IDENTITY_URL: stack.identity.url,
        SELVEDGE_DISCOVERY_URL: stack.discovery.url,
      },
      [],
      { checkout },
    )
    const token = await accessToken({ identity: stack.identity, runtime }, developer)
    return { client: runtimeOf({ runtime }), url: runtime.url, token }
  }
  const count = async ({ url, token }: { url: string; token: string }, path: string) =>
    Number((await callUrl(url + path, { token })).text)

  async function deploy({ client, token }: Awaited<ReturnType<typeof start>>, name: string) {
    const source = writeFile(state, `${name}.tar`, functionImage(counter, name, 'index.js'))
    const { id: image } = await client.deployImage({ edgeAccessToken: token, source })
    return client.deployContainer({ edgeAccessToken: token, spec: { name, image, env: {} } })
  }

  it('leaves state that this one continues, and continues what this one leaves', async () => {
    const older = await start(previous)
    await older.client.associateAccount({ edgeAccessToken: older.token })
    const first = await deploy(older, 'first')
    const before = await older.client.getMe()
    expect(await count(older, first.basePath)).toBe(1)

    const newer = await start(root)
    expect(await newer.client.getMe()).toMatchObject({ nodeId: before.nodeId, accountId: before.accountId })
    expect(await count(newer, first.basePath)).toBe(2)
    const second = await deploy(newer, 'second')
    expect(await count(newer, second.basePath)).toBe(1)
    // What is known of its paths is nothing that the version before has to read.
    await deploy(newer, 'gone')
    await newer.client.removeContainer({ edgeAccessToken: newer.token, id: 'gone' })

    const again = await start(previous)
    expect(await again.client.getMe()).toMatchObject({
      nodeId: before.nodeId,
      accountId: before.accountId,
      notices: before.notices,
    })
    expect(await count(again, first.basePath)).toBe(3)
    expect(await count(again, second.basePath)).toBe(2)
  })

  it('works with the identity and discovery services of this one', async () => {
    const { client, token } = await start(previous)
    await client.updateGps({
      edgeAccessToken: token,
      longitude: '-123.1150',
      latitude: '49.2500',
      speed: '10',
      bearing: '350',
    } as never)
    await expect
      .poll(async () => {
        const { nodeId } = await client.getMe()
        return (await callUrl(`${stack.discovery.url}/v1/nodes/${nodeId}/fix`, { token })).status
      })
      .toBe(200)
  })

  it('has a command line that works with the runtime of this one', async () => {
    const { url, token, client } = await start(root)
    const env = { ...cliEnvOf({ state }), SELVEDGE_ACCESS_TOKEN: token }
    const run = async (...args: string[]) => {
      const program = join(previous, 'apps/cli/dist/main.cjs')
      const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, '--json'], { env })
      return JSON.parse(stdout)
    }
    expect(await run('me')).toMatchObject({ nodeId: (await client.getMe()).nodeId })
    expect(await run('container', 'list')).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'first', kind: 'function' })]),
    )
    expect(await run('call', 'getMe', '--url', url)).toBeDefined()
    await run('container', 'stop', 'first')
    expect(await run('container', 'start', 'first')).toMatchObject({ state: 'running' })
  })
  it('shares the state of the identity service with this one, in both directions', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'selvedge-upgrade-'))
    const env = { ...freePorts, SELVEDGE_STATE: folder }
    const seen: string[][] = []
    const keys: unknown[] = []
    try {
      for (const [turn, checkout] of [previous, root, previous].entries()) {
        const identity = await startProgram('identity', env, [], { checkout })
        const admin = adminOf(folder)
        await admin['account.create']({ email: `turn${turn}@example.com` })
        const accounts = await admin['account.list']({})
        seen.push(accounts.map(({ email }) => email).sort())
        keys.push(JSON.parse((await callUrl(`${identity.url}/jwks`, {})).text))
        await identity.stop()
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
    const emails = [0, 1, 2].map((turn) => `turn${turn}@example.com`)
    expect(seen).toEqual([1, 2, 3].map((count) => emails.slice(0, count)))
    expect(keys[1]).toEqual(keys[0])
    expect(keys[2]).toEqual(keys[0])
  })

  it('shares the state of the discovery service with this one, in both directions', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'selvedge-upgrade-'))
    const env = { ...freePorts, SELVEDGE_STATE: folder, SELVEDGE_IDENTITY_URL: stack.identity.url }
    try {
      for (const checkout of [previous, root, previous]) {
        const discovery = await startProgram('discovery', env, [], { checkout })
        expect((await callUrl(`${discovery.url}/healthz`, {})).status).toBe(200)
        await discovery.stop()
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
