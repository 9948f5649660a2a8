/** A host without bubblewrap: fewer layers are active, and the reported ones do isolate. */

import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { openCgroups } from '../../../apps/runtime/src/services/engines/function/cgroup.ts'
import { findDeno } from '../../../apps/runtime/src/services/engines/function/find-deno.ts'
import { hostSystem } from '../../../apps/runtime/src/services/engines/function/host-system.ts'
import { descendantsOf } from '../../harness/instances.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { attackerSource, escapes } from './escapes.ts'
import { socketEscapes } from './escapes-sockets.ts'

const writing =
  /^(replace its own socket|write anywhere|get back|use a descriptor|change something at the path)/

let services: Services
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
  mkdirSync(join(folder.path, 'bin'))
  services = await startServices({ env: { PATH: join(folder.path, 'bin') } })
})
afterAll(async () => {
  await services.stop()
  await folder.remove()
})

it('functions run, and the record and doctor say what is missing', async () => {
  const { basePath, isolation } = await services.deploy(
    'bare',
    'export default { fetch: () => new Response("up") }',
    { 'MCM.IDLE_SEC': '0' },
  )
  expect((await services.call(basePath)).text).toBe('up')
  expect(isolation).toContain('language permissions')
  expect(isolation).not.toContain('namespaces')
  const { function: engine } = await services.runtime().getEngines()
  expect(engine).toMatchObject({
    available: true,
    hints: expect.arrayContaining([expect.stringContaining('apt-get install -y bubblewrap')]),
  })
})

it.each([
  ['read a file', 'Deno.readTextFileSync("/etc/passwd")'],
  ['read the key of the node', 'Deno.readTextFileSync("STATE/runtime/node-key.json")'],
  ['start a program', 'new Deno.Command("/bin/sh").outputSync()'],
  ['reach the loopback', 'await Deno.connect({ hostname: "127.0.0.1", port: 22 })'],
  [
    'reach the socket of the runtime',
    'await Deno.connect({ transport: "unix", path: "STATE/runtime.sock" })',
  ],
])('they still can’t %s', async (_, attempt) => {
  const source = `export default { async fetch() { try { ${attempt.replaceAll('STATE', services.stack.state)}; return new Response('did it') } catch (e) { return new Response(e.name) } } }`
  const { basePath } = await services.deploy('tries', source)
  expect((await services.call(basePath)).text).toMatch(/NotCapable|PermissionDenied/)
})

it.each([...escapes, ...socketEscapes].filter(({ name }) => writing.test(name)))(
  'they still can’t $name',
  async (attempt) => {
    const { basePath } = await services.deploy('writes', attackerSource([attempt], {}))
    expect((await services.call(`${basePath}/attempt/0`)).text).toMatch(attempt.answer as RegExp)
  },
)

it('doctor names the user that functions run as, and they run as that', async () => {
  const { id } = await services.deploy('who', 'export default { fetch: () => new Response("up") }', {
    'MCM.IDLE_SEC': '0',
  })
  const { function: engine } = await services.runtime().getEngines()
  const uids = new Set(descendantsOf(services.runtimePid()).map((pid) => statSync(`/proc/${pid}`).uid))
  const [hint = ''] = engine.hints
  if (process.getuid?.() !== 0)
    expect(hint).toContain(`as the user of the runtime (uid ${process.getuid?.()})`)
  else if (engine.isolation.includes('unprivileged user')) {
    expect(hint).toContain('users of their own')
    expect(Math.min(...uids)).toBeGreaterThanOrEqual(0x70000000)
  } else expect(hint).toContain('processes of root')
  await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
})

it('memory is limited', async () => {
  const source =
    'export default { fetch() { const all = []; for (;;) all.push(new Uint8Array(8 << 20).fill(1)) } }'
  const { id, basePath } = await services.deploy('hog', source, { 'MCM.IDLE_SEC': '0' })
  expect((await services.call(basePath)).status).toBe(502)
  const last = async () =>
    (await services.runtime().getContainerHistory({ edgeAccessToken: services.token, id })).history.at(-1)
      ?.detail
  await expect.poll(last).toMatch(/memory limit/)
})

it('they end with the runtime, killed as it may be', async () => {
  const own = descendantsOf(services.runtimePid())
  expect(own.length).toBeGreaterThan(0)
  await services.restart('SIGKILL')
  await expect.poll(() => own.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
})

it('with a bubblewrap that fails no function starts; once it is gone or works again, it does', async () => {
  const own = join(folder.path, 'bin/bwrap')
  const source = 'export default { fetch: () => new Response("up") }'
  writeFileSync(own, '#!/bin/sh\necho "No permissions to create a new namespace" >&2; exit 1\n')
  chmodSync(own, 0o755)
  await services.restart()
  await expect(services.deploy('closed', source)).rejects.toMatchObject({
    reason: 'engine_unavailable',
    message: expect.stringContaining('No permissions to create a new namespace'),
  })
  const { function: engine } = await services.runtime().getEngines()
  expect(engine).toMatchObject({ available: false, hints: [expect.stringContaining('user namespaces')] })
  rmSync(own)
  const { basePath } = await services.deploy('closed', source)
  expect((await services.call(basePath)).text).toBe('up')
})

describe.runIf(process.platform === 'linux')('the sandbox that is chosen on Linux', () => {
  const name = `selvedge-bare-host-${process.pid}`
  // Any file is enough as the program: nothing is started.
  const find = () => hostSystem.findSandbox(findDeno()!, import.meta.filename, name)
  afterEach(async () => {
    vi.unstubAllEnvs()
    await openCgroups(name)?.close()
  })

  it('is that of Linux without bubblewrap, too: each function ends with the runtime and gets no new rights', async () => {
    vi.stubEnv('PATH', join(folder.path, 'bin'))
    const sandbox = await find()
    expect(sandbox.hasBubblewrap).toBe(false)
    expect(sandbox.needsLifeline).toBe(false)
    expect(sandbox.hold(['deno'], { user: 0x7000_0000 })).toEqual([
      '/usr/bin/setpriv',
      ...['--reuid=1879048192', '--regid=1879048192', '--clear-groups', '--inh-caps=-all'],
      ...['--bounding-set=-all', '--pdeathsig', 'KILL', '--no-new-privs', 'deno'],
    ])
    expect(sandbox.hints.join(' ')).toContain('apt-get install -y bubblewrap')
  })

  it('is no weaker one if bubblewrap is there and fails', async () => {
    const bin = join(folder.path, 'failing')
    mkdirSync(bin)
    writeFileSync(join(bin, 'bwrap'), '#!/bin/sh\necho no namespaces >&2\nexit 1\n', { mode: 0o755 })
    vi.stubEnv('PATH', bin)
    await expect(find()).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringContaining('bubblewrap is installed and fails: no namespaces'),
    })
  })
})
