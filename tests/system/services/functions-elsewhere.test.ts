/**
 * Functions without anything that only Linux has: the runtime as it is built for macOS, where it was not tested. Here are the tests of what
 * replaces the layers that are missing; those of `functions.test.ts` run with it, too.
 */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildElsewhere, bundleElsewhere } from '../../harness/elsewhere.ts'
import { needs } from '../../harness/installed.ts'
import { descendantsOf } from '../../harness/instances.ts'
import { type Services, startServices } from '../../harness/services.ts'
import { linuxOnly, linuxWords, sourcesOf } from './linux-only.ts'

let place: Awaited<ReturnType<typeof buildElsewhere>>
beforeAll(async () => {
  place = await buildElsewhere()
})
afterAll(() => place?.remove())

describe('a bundle for macOS', () => {
  const foundIn = (modules: ReadonlyMap<string, string>) =>
    [...modules].flatMap(([path, code]) => (linuxWords.test(code) ? [path] : [])).toSorted()

  it('of the runtime, the command line or the stack reaches nothing of Linux but what the list explains', async () => {
    const others = await Promise.all([
      bundleElsewhere('cli', place.checkout),
      bundleElsewhere('stack', place.checkout),
    ])
    const found = new Set([place.modules, ...others].flatMap(foundIn))
    expect([...found].toSorted()).toEqual(Object.keys(linuxOnly).toSorted())
  })

  it('has modules of each kind, and those of Linux are found in them', () => {
    expect(place.modules.has('apps/runtime/src/services/engines/function/portable-sandbox.ts')).toBe(true)
    for (const each of ['linux-sandbox', 'bubblewrap', 'cgroup', 'descriptors', 'memory'])
      expect(place.modules.get(`apps/runtime/src/services/engines/function/${each}.ts`) ?? '').not.toMatch(
        /\S/,
      )
    expect(foundIn(sourcesOf('apps/runtime/src/services/engines/function'))).toContain(
      'apps/runtime/src/services/engines/function/cgroup.ts',
    )
  })

  it('of the identity or the discovery service is made of modules without anything of Linux', () => {
    expect(['apps/identity/src', 'apps/discovery/src'].map(sourcesOf).flatMap(foundIn)).toEqual([])
  })
})

describe('the sandbox without Linux', needs('ps'), () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices({ place })
  })
  afterAll(() => services?.stop())
  const up = 'export default { fetch: () => new Response("up") }'

  it('runs functions, and the record and the engine say which layers are missing', async () => {
    const { basePath, isolation } = await services.deploy('up', up, { 'MCM.IDLE_SEC': '0' })
    expect((await services.call(basePath)).text).toBe('up')
    expect(isolation).toEqual(['language permissions', 'memory watch'])
    const { function: engine } = await services.runtime().getEngines()
    expect(engine).toMatchObject({ available: true, isolation })
    expect(engine.hints.join(' ')).toMatch(
      /only language permissions.*processor and processes are not limited/,
    )
  })

  it('keeps a function from files, programs, other processes and sockets', async () => {
    const { state } = services.stack
    const attempts = {
      file: 'Deno.readTextFileSync("/etc/passwd")',
      key: `Deno.readTextFileSync("${state}/runtime/node-key.json")`,
      written: `Deno.writeTextFileSync("${state}/written", "x")`,
      program: 'new Deno.Command("/bin/sh").outputSync()',
      'its guard': 'Deno.kill(Deno.pid + 1, "SIGKILL")',
      loopback: 'await Deno.connect({ hostname: "127.0.0.1", port: 22 })',
      runtime: `await Deno.connect({ transport: "unix", path: "${state}/runtime.sock" })`,
    }
    const tries = Object.entries(attempts).map(
      ([name, attempt]) =>
        `try { ${attempt}; found[${JSON.stringify(name)}] = 'did it' } catch (e) { found[${JSON.stringify(name)}] = e.name }`,
    )
    const source = `export default { async fetch() { const found = {}; ${tries.join('; ')}; return Response.json(found) } }`
    const { basePath } = await services.deploy('tries', source)
    const found = JSON.parse((await services.call(basePath)).text)
    expect(found).toEqual(Object.fromEntries(Object.keys(attempts).map((name) => [name, 'NotCapable'])))
  })

  it('limits memory, and shows how much a function has', async () => {
    const source = `let held; export default { async fetch(request) {
      if (request.url.endsWith('/some')) { held = new Uint8Array(200 << 20).fill(1); return new Response('held') }
      const all = []; for (;;) { all.push(new Uint8Array(8 << 20).fill(1)); await new Promise((next) => setTimeout(next, 1)) } } }`
    const { id, basePath } = await services.deploy('hog', source, {
      'MCM.IDLE_SEC': '0',
      'MCM.MEMORY_MB': '400',
    })
    const own = async () =>
      (await services.runtime().getContainers({ edgeAccessToken: services.token })).find(
        (each) => each.id === id,
      )
    expect((await services.call(`${basePath}/some`)).text).toBe('held')
    await expect.poll(async () => (await own())?.memory ?? 0).toBeGreaterThan(100 << 20)
    expect((await services.call(basePath)).status).toBe(502)
    const last = async () =>
      (await services.runtime().getContainerHistory({ edgeAccessToken: services.token, id })).history.at(-1)
        ?.detail
    await expect.poll(last).toMatch(/memory limit of 400 MiB/)
  })

  it('ends functions with the runtime, killed as it may be, also one that never returns', async () => {
    const source = `export default { async fetch(request) { if (request.url.endsWith('/spin')) for (;;); return new Response('up') } }`
    const { basePath } = await services.deploy('spins', source, { 'MCM.IDLE_SEC': '0' })
    expect((await services.call(basePath)).text).toBe('up')
    const own = descendantsOf(services.runtimePid())
    expect(own.length).toBeGreaterThan(1)
    const spinning = services.call(`${basePath}/spin`).catch(() => undefined)
    await services.restart('SIGKILL')
    await spinning
    await expect.poll(() => own.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([])
  })

  it('leaves no guard behind a function that has exited', async () => {
    const { id, basePath } = await services.deploy('leaves', up, { 'MCM.IDLE_SEC': '0' })
    expect((await services.call(basePath)).text).toBe('up')
    const own = descendantsOf(services.runtimePid())
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id })
    await expect.poll(() => own.filter((pid) => !existsSync(`/proc/${pid}`)).length).toBe(2)
  })
})
