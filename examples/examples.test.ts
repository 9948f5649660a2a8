/** Every example, and every template of `selvedge init`, deployed as its README says and called. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packFolder } from '../apps/cli/src/archive/pack.ts'
import { has, needs } from '../tests/harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../tests/harness/podman.ts'
import { root } from '../tests/harness/processes.ts'
import { type Services, startServices } from '../tests/harness/services.ts'

let services: Services
let podman: Podman | undefined
beforeAll(async () => {
  podman = has(...podmanNeeds) ? await startPodman() : undefined
  services = await startServices({ args: podman ? [`--oci.socket=${podman.socket}`] : [] })
})
afterAll(async () => {
  await services.stop()
  await podman?.stop()
})

const example = (name: string): string => join(root, 'examples', name)
const template = (name: string): string => join(root, 'apps/cli/templates', name)
async function deployFolder(folder: string, name: string, env: Record<string, string> = {}) {
  const { id: image } = await services.deployImage((await packFolder(folder, { name })).archive)
  return services.runtime().deployContainer({ edgeAccessToken: services.token, spec: { name, image, env } })
}
const json = async (path: string, init = {}) => JSON.parse((await services.call(path, init)).text)

describe('the examples', () => {
  it('counter: a handler with storage', async () => {
    const { basePath } = await deployFolder(example('counter'), 'counter')
    expect(await json(`${basePath}/a`)).toEqual({ name: 'a', count: 1 })
    expect(await json(`${basePath}/a`)).toEqual({ name: 'a', count: 2 })
    expect(await json(`${basePath}/`)).toEqual({ a: 2 })
    expect((await services.call(`${basePath}/a`, { method: 'DELETE' })).status).toBe(204)
    expect(await json(`${basePath}/`)).toEqual({})
  })

  it('chat: a module worker with a WebSocket', async () => {
    const { basePath } = await deployFolder(example('chat'), 'chat', { 'MCM.ACCESS': 'public' })
    const url = services.url().replace('http', 'ws') + basePath
    const [one, two] = [new WebSocket(url), new WebSocket(url)]
    await Promise.all(
      [one, two].map((socket) => new Promise((resolve) => socket.addEventListener('open', resolve))),
    )
    const heard = new Promise((resolve) => two.addEventListener('message', ({ data }) => resolve(data)))
    one.send('hello all')
    expect(await heard).toBe('hello all')
    expect((await services.call(basePath)).text).toBe('2 in the room\n')
    one.close()
    two.close()
  })

  it('pair: two services that call each other', async () => {
    const back = await deployFolder(example('pair/back'), 'back')
    const front = await deployFolder(example('pair/front'), 'front', {
      BACK_ID: back.id,
      BACK_PATH: back.basePath,
    })
    expect((await json(front.basePath)).back.hello).toBe(front.id)
  })
})

describe('the templates of "selvedge init"', () => {
  it.each(['function', 'worker'])('%s', async (kind) => {
    const { basePath } = await deployFolder(template(kind), `t-${kind}`)
    expect(await json(`${basePath}/x`)).toMatchObject({ hello: 'from the edge', path: '/x' })
  })

  it('wasm', async () => {
    const { basePath } = await deployFolder(template('wasm'), 't-wasm')
    expect((await services.call(`${basePath}/x`)).text).toMatch(/hello from wasm[\s\S]*PATH_INFO=\/x/)
  })

  it('oci', needs(...podmanNeeds, 'buildah', 'busybox'), async () => {
    const folder = mkdtempSync(join(tmpdir(), 'oci-'))
    const env = {
      ...process.env,
      CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
      BUILDAH_ISOLATION: 'chroot',
    }
    writeFileSync(
      join(folder, 'storage.conf'),
      `[storage]\ndriver = "vfs"\ngraphroot = "${folder}/graph"\nrunroot = "${folder}/run"\n`,
    )
    writeFileSync(join(folder, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}')
    const sh = (script: string) =>
      execFileSync('sh', ['-ec', script], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
    cpSync(template('oci'), join(folder, 'project'), { recursive: true })
    execFileSync(process.execPath, [join(folder, 'project/build.js')], { stdio: 'ignore' })
    // Neither a base image nor a registry is there.
    sh(`buildah bud --signature-policy policy.json --pull-never -t localhost/web:1.0 project
      buildah push --signature-policy policy.json localhost/web:1.0 docker-archive:web.tar:web:1.0`)
    const { id: image } = await services.deployImage(readFileSync(join(folder, 'web.tar')))
    const { basePath, kind } = await services
      .runtime()
      .deployContainer({ edgeAccessToken: services.token, spec: { name: 't-oci', image, env: {} } })
    expect(kind).toBe('oci')
    expect((await services.call(`${basePath}/`)).text).toContain('hello from the edge')
    rmSync(folder, { recursive: true, force: true })
  })
})
