/** Images from registries over bad lines, to a runtime that is killed meanwhile, and by a cache of others between. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layoutFiles, tarOf } from '../../harness/archives.ts'
import { findProgram, needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { randomOf } from '../../harness/seed.ts'
import { type Services, startServices } from '../../harness/services.ts'

/** `SELVEDGE_PULL_KILLS=20` kills as often. */
const kills = Number(process.env.SELVEDGE_PULL_KILLS ?? 6)
const layerBytes = 20_000_000

const content = randomOf('bad-lines').bytes(layerBytes)
const files = layoutFiles({
  layers: [tarOf([{ path: 'data', content }])],
  config: { Cmd: ['/hello'] },
})
const blobOf = (digest: string) =>
  Buffer.from(files.find(({ path }) => path === `blobs/sha256/${digest}`)!.content!)
const index = JSON.parse(String(files.find(({ path }) => path === 'index.json')!.content))
const manifest = blobOf(index.manifests[0].digest.slice(7))
const allBytes = JSON.parse(String(manifest)).layers[0].size as number

/** A registry with one image, at so many bytes in each 10 ms; counts what it sends of the layer. */
async function listen(server: Server, rate: { bytes: number }) {
  let sent = 0
  server.on('request', async ({ method, url = '', headers }, response) => {
    response.on('error', () => undefined)
    if (url === '/v2/') return response.end('{}')
    if (url.includes('/manifests/')) {
      response.setHeader('Docker-Content-Digest', index.manifests[0].digest)
      response.setHeader('Content-Length', manifest.length)
      return response.setHeader('Content-Type', index.manifests[0].mediaType).end(manifest)
    }
    const blob = blobOf(url.split('sha256:')[1]!)
    const from = Number(/\d+/.exec(headers.range ?? '')?.[0] ?? 0)
    response.writeHead(from > 0 ? 206 : 200, {
      'Content-Length': blob.length - from,
      'Content-Range': `bytes ${from}-${blob.length - 1}/${blob.length}`,
    })
    if (method === 'HEAD') return response.end()
    for (let at = from; at < blob.length && !response.destroyed; ) {
      const chunk = blob.subarray(at, at + rate.bytes)
      at += chunk.length
      if (blob.length > 1_000_000) sent += chunk.length
      response.write(chunk)
      await sleep(10)
    }
    return response.end()
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: () => sent,
  }
}

describe('an image from a registry', () => {
  let services: Services
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  const servers: Server[] = []
  beforeAll(async () => {
    services = await startServices({ args: [] })
    folder = await temporaryFolder()
  })
  afterAll(async () => {
    for (const each of servers) {
      each.close()
      each.closeAllConnections()
    }
    await services?.stop()
    await folder?.remove()
  })

  const token = () => ({ edgeAccessToken: services.token })
  const images = async () => (await services.runtime().getImages(token())).map(({ name }) => name)
  const deploy = (source: string) => services.runtime().deployImage({ ...token(), source })
  const removeImage = (name: string) =>
    services.runtime().removeImage({ ...token(), id: `${services.developer.clientId}-${name}` })
  const start = (rate: { bytes: number }) => {
    const server = createServer()
    servers.push(server)
    return listen(server, rate)
  }
  it('arrives, however often the runtime is killed, with each byte sent about once', async () => {
    const rate = { bytes: Math.ceil(layerBytes / (kills * 60)) }
    const registry = await start(rate)
    deploy(`${registry.host}/team/killed:1`).catch(() => undefined)
    for (let each = 1; each <= kills; each++) {
      await expect.poll(registry.sent).toBeGreaterThan((allBytes / (kills + 1)) * each)
      await services.restart('SIGKILL')
    }
    rate.bytes = 1_000_000
    await expect.poll(images).toEqual(['killed'])
    console.log(`${kills} kills, ${(registry.sent() / allBytes).toFixed(3)} times the bytes of the layer`)
    // What was in the buffers of each connection that broke is sent again.
    expect(registry.sent() / allBytes).toBeLessThan(1.2)
    // A layer that is there is not downloaded again.
    await removeImage('killed')
  })

  it('does not touch services that run, and one that crashes meanwhile restarts', async () => {
    const source = `const id = crypto.randomUUID()
      export default {
        fetch(request) {
          if (request.url.endsWith('/crash')) setTimeout(() => Deno.exit(7), 60)
          return new Response(id)
        },
      }`
    const env = { 'MCM.IDLE_SEC': '0' }
    const [steady, crashing] = [
      await services.deploy('steady', source, env),
      await services.deploy('crashing', source, env),
    ]
    const instanceOf = async ({ basePath }: { basePath: string }, path = '') => {
      const { status, text } = await services.call(`${basePath}${path}`)
      return status === 200 ? text : undefined
    }
    const restartsOf = async ({ id }: { id: string }) =>
      (await services.runtime().getContainers(token())).find((each) => each.id === id)?.restarts
    const before = [await instanceOf(steady), await instanceOf(crashing)]

    const rate = { bytes: 1000 }
    const registry = await start(rate)
    const pulled = deploy(`${registry.host}/team/slow:1`)
    await expect.poll(registry.sent).toBeGreaterThan(0)
    expect(await instanceOf(crashing, '/crash')).toBe(before[1])
    const isAnother = async () => ![undefined, before[1]].includes(await instanceOf(crashing))
    await expect.poll(isAnother).toBe(true)
    expect(registry.sent()).toBeLessThan(allBytes)

    rate.bytes = 1_000_000
    expect(await pulled).toMatchObject({ name: 'slow' })
    expect([await instanceOf(steady), await restartsOf(steady)]).toEqual([before[0], 0])
    await removeImage('slow')
  })

  it('comes by a pull-through cache of others, also from its disk', needs('docker-registry'), async () => {
    const registry = await start({ bytes: 1_000_000 })
    const port = await freePort()
    mkdirSync(join(folder.path, 'cache'))
    const config = join(folder.path, 'cache.yml')
    writeFileSync(
      config,
      `version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: ${folder.path}/cache\nproxy:\n  remoteurl: http://${registry.host}\nhttp:\n  addr: 127.0.0.1:${port}\n`,
    )
    const cache = spawn(findProgram('docker-registry')!, ['serve', config], { stdio: 'ignore' })
    try {
      const isUp = () =>
        fetch(`http://127.0.0.1:${port}/v2/`).then(
          ({ ok }) => ok,
          () => false,
        )
      await expect.poll(isUp).toBe(true)
      const { digest } = await deploy(`127.0.0.1:${port}/team/cached:1`)
      const blobs = join(folder.path, 'cache/docker/registry/v2/blobs/sha256')
      await expect.poll(() => readdirSync(blobs, { recursive: true }).length).toBeGreaterThan(3)
      await removeImage('cached')
      const before = registry.sent()
      expect(await deploy(`127.0.0.1:${port}/team/cached:1`)).toMatchObject({ digest })
      expect(registry.sent()).toBe(before)
    } finally {
      cache.kill()
    }
  })
})
