/**
 * A device on a metered link, in a network of the test: what it counts is what the wire carries, downloads wait, and a budget holds.
 * `SELVEDGE_WIRE_SECONDS=300` also measures that long what a device at rest and a moving one use.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RuntimeClient } from '@selvedge/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layoutFiles, tarOf } from '../../harness/archives.ts'
import {
  type CloudDevice,
  type CloudHost,
  spawnIn,
  startCloudDevice,
  startCloudHost,
} from '../../harness/cloud-host.ts'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { randomOf } from '../../harness/seed.ts'

const addresses = { device: '10.78.1.2', cloud: '10.78.1.3' }
const registryPort = 5000
const layerBytes = 4_000_000
const wireSeconds = Number(process.env.SELVEDGE_WIRE_SECONDS ?? 0)

/** A registry with one image in files, by HTTP. It prints each path that is requested. */
const registry = `
const { createServer } = require('node:http')
const { readFileSync } = require('node:fs')
const [folder, type] = process.argv.slice(1)
createServer(({ url, headers }, response) => {
  console.log(url)
  if (url === '/v2/') return response.end('{}')
  if (url.includes('/manifests/')) return response.setHeader('Content-Type', type).end(readFileSync(folder + '/manifest'))
  const blob = readFileSync(folder + '/' + url.split('sha256:')[1])
  const from = Number(/\\d+/.exec(headers.range ?? '')?.[0] ?? 0)
  response.writeHead(from > 0 ? 206 : 200, { 'Content-Length': blob.length - from, 'Content-Range': 'bytes ' + from + '-' + (blob.length - 1) + '/' + blob.length })
  response.end(blob.subarray(from))
}).listen(${registryPort}, '${addresses.cloud}', () => console.log('ready'))
`

describe('on a metered link', needs('networks', 'openssl'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let networks: Networks
  let cloud: CloudHost
  let device: CloudDevice | undefined
  let server: ReturnType<typeof spawnIn>
  const requested: string[] = []
  const at = (name: string) => join(folder.path, name)
  const source = `${addresses.cloud}:${registryPort}/team/large:1`

  beforeAll(async () => {
    folder = await temporaryFolder()
    networks = makeNetworks({ device: { lan: addresses.device }, cloud: { lan: addresses.cloud } })
    cloud = await startCloudHost(networks.spaceOf('cloud'), addresses.cloud, folder.path)
    const content = randomOf('metered').bytes(layerBytes)
    const files = layoutFiles({ layers: [tarOf([{ path: 'data', content }])], config: { Cmd: ['/hello'] } })
    for (const { path, content } of files)
      if (path.startsWith('blobs/')) writeFileSync(at(path.split('/').at(-1)!), Buffer.from(content!))
    const index = JSON.parse(String(files.find(({ path }) => path === 'index.json')!.content))
    const { digest, mediaType } = index.manifests[0]
    const manifest = files.find(({ path }) => path.endsWith(digest.slice(7)))!.content!
    writeFileSync(at('manifest'), Buffer.from(manifest))
    const run = [process.execPath, '-e', registry, folder.path, mediaType] as const
    server = spawnIn(networks.spaceOf('cloud'), ...run)
    server
      .stdout!.setEncoding('utf8')
      .on('data', (text: string) => requested.push(...text.trim().split('\n')))
    await once(server.stdout!, 'data')
  })
  afterAll(async () => {
    await device?.program.stop()
    server?.kill()
    await cloud?.stop()
    networks?.remove()
    await folder?.remove()
  })

  /** Starts the device again, on the same state. */
  async function start(...args: string[]): Promise<CloudDevice> {
    await device?.program.stop()
    device = await startCloudDevice(cloud, networks.spaceOf('device'), at('device'), [
      `--images.insecure=${addresses.cloud}:${registryPort}`,
      ...args,
    ])
    return device
  }

  /** Bytes that the interface of the device has carried, with the headers of all packets. */
  function onWire(): number {
    const args = ['-n', networks.spaceOf('device'), '-s', '-j', 'link', 'show', 'dev', 'lan']
    const [link] = JSON.parse(execFileSync('ip', args, { encoding: 'utf8' }))
    return link.stats64.rx.bytes + link.stats64.tx.bytes
  }
  const counted = async (runtime: RuntimeClient): Promise<number> =>
    Object.values((await runtime.getNetworkUse()).today).reduce(
      (sum, { sentBytes, receivedBytes }) => sum + sentBytes + receivedBytes,
      0,
    )
  const images = async (runtime: RuntimeClient, edgeAccessToken: string) =>
    (await runtime.getImages({ edgeAccessToken })).map(({ name }) => name)

  it('a download waits, and one with "now" does not; what is counted is what the wire carries', async () => {
    const before = onWire()
    const { runtime, token } = await start('--network.metered=yes', '--linkLocal.enabled=false')
    const waiting = runtime.deployImage({ edgeAccessToken: token, source, name: 'waiting' })
    waiting.catch(() => undefined)
    const use = await runtime.getNetworkUse()
    expect(use).toMatchObject({ metered: true, meteredReason: 'network.metered is "yes"' })
    expect(use.downloadsWait).toContain('the link is metered')
    expect(requested.filter((each) => each.startsWith('/v2'))).toEqual([])

    await runtime.deployImage({ edgeAccessToken: token, source, name: 'urgent', now: true })
    expect(await images(runtime, token)).toEqual(['urgent'])
    const used = () => runtime.getNetworkUse().then(({ today }) => today)
    await expect.poll(async () => (await used()).images!.receivedBytes / layerBytes).toBeGreaterThan(1)
    const today = await used()
    expect(today.images!.receivedBytes / layerBytes).toBeLessThan(1.01)
    expect(today.identity!.sentBytes).toBeGreaterThan(1000)
    const ratio = (onWire() - before) / (await counted(runtime))
    console.log(`the wire carries ${ratio.toFixed(3)} times the counted bytes`)
    expect(ratio).toBeGreaterThan(1)
    expect(ratio).toBeLessThan(1.2)
    await runtime.removeImage({ edgeAccessToken: token, id: `${cloud.developer.clientId}-urgent` })
  })

  it('a download stops at the budget of the day, and continues when there is one again', async () => {
    const before = await start('--network.metered=yes').then(({ runtime }) => counted(runtime))
    const limit = before + 2_000_000
    const { runtime } = await start(`--network.dayBudget=${limit}`, '--network.metered=no')
    const wait = async () => (await runtime.getNetworkUse()).downloadsWait
    await expect.poll(wait).toContain(`the limit is ${limit} (network.dayBudget)`)
    expect((await counted(runtime)) - limit).toBeLessThan(1_000_000)
    const next = await start('--network.metered=no')
    await expect.poll(() => images(next.runtime, next.token)).toEqual(['waiting'])
    const used = (await counted(next.runtime)) - before
    console.log(
      `an image of ${layerBytes} bytes over two days: ${(used / layerBytes).toFixed(3)} times its bytes`,
    )
    expect(used / layerBytes).toBeLessThan(1.3)
  })

  it.runIf(wireSeconds > 0)('bytes of a day', { timeout: wireSeconds * 3000 + 60_000 }, async () => {
    const { runtime, token } = await start('--linkLocal.enabled=false')
    // What a start needs is no part of a day.
    await sleep(10_000)
    const measure = async (name: string, work: (second: number) => Promise<unknown>) => {
      const [wire, own] = [onWire(), await counted(runtime)]
      for (let second = 0; second < wireSeconds; second++) {
        await Promise.all([sleep(1000), work(second)])
      }
      const aDay = (bytes: number) => `${((bytes * 86_400) / wireSeconds / 1e6).toFixed(2)} MB a day`
      console.log(
        `${name}: ${aDay(onWire() - wire)} on the wire, ${aDay((await counted(runtime)) - own)} counted`,
      )
    }
    await measure('at rest', async () => undefined)
    await measure('a position each second', (second) =>
      runtime.updateGps({
        ...{ edgeAccessToken: token, longitude: String(8 + second / 10_000) },
        ...{ latitude: '47.3', speed: '7', bearing: '90' },
      }),
    )
  })
})
