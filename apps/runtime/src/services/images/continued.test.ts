/** Pulls that break off, and continue after a restart of the runtime: the whole way from a registry to the document. */
import { once } from 'node:events'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { systemClock } from '@selvedge/service-kit/clock'
import { openDocument } from '@selvedge/service-kit/store'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { layoutFiles, tarOf } from '../../../../../tests/harness/archives.ts'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { stepLimitMs } from '../../../../../tests/harness/limits.ts'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { randomOf } from '../../../../../tests/harness/seed.ts'
import { deploymentsFormat } from '../deployments/deployments.ts'
import { openBlobs } from './blobs.ts'
import { type ImageParts, openImages } from './images.ts'

const random = randomOf('continued')
const owner = { account_id: 'a', client_id: 'c' }
const layers = [0, 1].map((each) => tarOf([{ path: `etc/${each}`, content: random.bytes(500_000) }]))
const files = layoutFiles({ layers, config: { Cmd: ['/app'] } })
const contentOf = (digest: string) =>
  Buffer.from(files.find(({ path }) => path === `blobs/sha256/${digest}`)!.content!)
const index = JSON.parse(String(files.find(({ path }) => path === 'index.json')!.content))
const manifest = contentOf(index.manifests[0].digest.slice(7))
const [, second] = JSON.parse(String(manifest)).layers.map(({ digest }: { digest: string }) =>
  digest.slice(7),
)

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let server: Server | undefined
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(async () => {
  server?.close()
  server?.closeAllConnections()
  await folder.remove()
})

/** A registry that cuts the second layer after so many bytes, and is busy for a day then at the next request for it, so often. What it heard. */
async function listen(cut: { bytes: number; times: number }) {
  let isCut = false
  let held = 0
  const heard: string[] = []
  /** Sends so many bytes of the second layer, and nothing then. */
  const hold = (bytes: number) => {
    held = bytes
  }
  const send = (digest: string, from: number, response: ServerResponse) => {
    const content = contentOf(digest)
    const headers = {
      'Content-Length': content.length - from,
      'Content-Range': `bytes ${from}-${content.length - 1}/${content.length}`,
    }
    response.writeHead(from > 0 ? 206 : 200, headers)
    if (digest === second && held > 0) return response.write(content.subarray(from, from + held))
    if (digest !== second || cut.times === 0) return response.end(content.subarray(from))
    isCut = true
    return response.write(content.subarray(from, from + cut.bytes), () => response.destroy())
  }
  server = createServer(async (request, response) => {
    const { url = '', headers } = request
    if (url.includes('/manifests/')) return response.end(manifest)
    const digest = url.split('sha256:')[1]!
    // The pull ends here: all other bytes are to be stored by then.
    if (isCut && digest === second) {
      isCut = false
      await vi.waitFor(() => expect(othersAreWhole()).toBe(true), { timeout: stepLimitMs })
      cut.times--
      return response.writeHead(429, { 'Retry-After': '86400' }).end()
    }
    heard.push(`${digest.slice(0, 4)} ${headers.range ?? 'whole'}`)
    return send(digest, Number(headers.range?.match(/\d+/)?.[0] ?? 0), response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { source: `127.0.0.1:${(server.address() as AddressInfo).port}/team/app:1`, heard, hold }
}

/** The images of a runtime that starts. */
async function start(options: Partial<ImageParts> = {}) {
  return openImages({
    folder: join(folder.path, 'images'),
    store: await openDocument(join(folder.path, 'deployments'), deploymentsFormat),
    blobs: await openBlobs(join(folder.path, 'images')),
    clock: systemClock,
    reserve: 0,
    former: { all: () => [], drop: async () => undefined },
    maxSize: 1e8,
    registries: {
      authFile: '',
      outbound: directNetwork,
      waiting: { wait: async () => undefined, random: () => 1, now: () => performance.now() },
    },
    accountId: () => owner.account_id,
    onRemoved: () => undefined,
    onPull: () => undefined,
    partialMs: 1e9,
    ...options,
  })
}
/** A runtime that waits for no registry: its pulls fail at their first wait. */
const startImpatient = () =>
  start({
    registries: {
      authFile: '',
      outbound: directNetwork,
      waiting: {
        wait: (_, cause) => Promise.reject(cause),
        random: () => 1,
        now: () => performance.now(),
      },
    },
  })
const partial = () => readdirSync(join(folder.path, 'images/partial'))
const sizeOf = (name: string) => statSync(join(folder.path, 'images/partial', name)).size
/** Whether no other layer than the second one is under way. */
const othersAreWhole = () =>
  !existsSync(join(folder.path, 'images/partial')) ||
  partial().every(
    (name) => name.endsWith(second!) || sizeOf(name) === contentOf(name.split('.').at(-1)!).length,
  )
const incoming = () => readdirSync(join(folder.path, 'images/incoming'))
const short = second!.slice(0, 4)

it('requests only the missing bytes after a restart, and no layer that was complete', async () => {
  const { source, heard } = await listen({ bytes: 300_000, times: 1 })
  await expect((await start()).deploy(owner, source)).rejects.toMatchObject({
    reason: 'registry_unavailable',
  })
  expect(partial()).toHaveLength(2)
  heard.length = 0
  const images = await start()
  await expect(images.deploy(owner, source)).resolves.toMatchObject({ kind: 'oci' })
  // The configuration is small, and requested again.
  expect(heard.filter((each) => !each.endsWith(' whole'))).toEqual([`${short} bytes=300000-`])
  expect(heard).toHaveLength(2)
  expect([partial(), incoming()]).toEqual([[], []])
  expect(images.list(owner)).toHaveLength(1)
})

it('counts what is on the disk as received', async () => {
  const { source } = await listen({ bytes: 300_000, times: 1 })
  await expect((await start()).deploy(owner, source)).rejects.toThrow('no request before 86400 s')
  const seen: number[] = []
  const all: number = JSON.parse(String(manifest)).layers.reduce(
    (sum: number, each: { size: number }) => sum + each.size,
    0,
  )
  const images = await start({ onPull: () => seen.push(images.pulls(owner)[0]?.receivedBytes ?? -1) })
  await images.deploy(owner, source)
  expect(seen.at(-2)).toBe(all + JSON.parse(String(manifest)).config.size)
})

it('another project gets nothing of a layer that is on the disk', async () => {
  const { source, heard } = await listen({ bytes: 300_000, times: 1 })
  await expect((await start()).deploy(owner, source)).rejects.toThrow('no request before')
  heard.length = 0
  await (await start()).deploy({ ...owner, client_id: 'other' }, source)
  expect(heard.filter((each) => each.endsWith(' whole'))).toHaveLength(3)
  expect(partial()).toHaveLength(2)
})

it('stores nothing of a pull that failed with images.partialAge 0, and removes what an earlier run stored', async () => {
  const { source } = await listen({ bytes: 300_000, times: 2 })
  await expect((await start()).deploy(owner, source)).rejects.toThrow('no request before')
  const images = await start({ partialMs: 0 })
  expect(partial()).toEqual([])
  await expect(images.deploy(owner, source)).rejects.toThrow('no request before')
  expect([partial(), incoming()]).toEqual([[], []])
})

it('parts of layers are removed when their account leaves', async () => {
  const { source } = await listen({ bytes: 300_000, times: 1 })
  const images = await start({ accountId: () => 'another' })
  await expect(images.deploy(owner, source)).rejects.toThrow('no request before')
  const left = async () => {
    await images.followAccount()
    return partial()
  }
  await expect.poll(left).toEqual([])
})

it('uploads of an account that has left are removed at the start', async () => {
  const { handle } = await (await start()).uploads.begin(owner, 3)
  expect(await (await start()).uploads.stateOf(owner, handle)).toMatchObject({ offset: 0 })
  await start({ accountId: () => 'another' })
  await expect((await start()).uploads.stateOf(owner, handle)).rejects.toMatchObject({ reason: 'not_found' })
})

it.each([
  ['sends nothing more', { hold: 300_000, allowance: undefined }],
  ['waits for the link', { hold: 0, allowance: { changed: () => new Promise<void>(() => undefined) } }],
])('a pull that %s ends when its account leaves, and leaves nothing behind', async (_, kind) => {
  const { source, hold } = await listen({ bytes: 300_000, times: 0 })
  hold(kind.hold)
  let end: ((cause: RpcError) => void) | undefined
  let isWatched = false
  const refusal = () => ({ kind: 'metered', reason: 'the link is metered', until: undefined })
  const images = await start({
    ...(kind.allowance && { allowance: { ...kind.allowance, refusal } }),
    watchWanted: (_, given) => {
      end = given
      isWatched = true
      return () => {
        isWatched = false
      }
    },
  })
  const pull = images.deploy(owner, source)
  const isStalled = () =>
    kind.hold > 0
      ? existsSync(join(folder.path, 'images/partial')) &&
        partial().some((each) => sizeOf(each) === kind.hold)
      : images.pulls(owner)[0]?.waiting !== undefined
  await expect.poll(isStalled).toBe(true)
  end?.(new RpcError('wrong_account', 'the account was removed'))
  await expect(pull).rejects.toMatchObject({ reason: 'wrong_account' })
  expect([images.pulls(owner), isWatched]).toEqual([[], false])
  const left = () => [existsSync(join(folder.path, 'images/partial')) ? partial() : [], incoming()]
  await expect.poll(left).toEqual([[], []])
  await expect.poll(() => readdirSync(join(folder.path, 'images/pulls'))).toEqual([])
})

it('a part that was changed on the disk never becomes an image', async () => {
  const { source, heard } = await listen({ bytes: 300_000, times: 1 })
  await expect((await start()).deploy(owner, source)).rejects.toThrow('no request before')
  const name = partial().find((each) => each.endsWith(second!))!
  writeFileSync(join(folder.path, 'images/partial', name), Buffer.alloc(300_000))
  heard.length = 0
  await (await start()).deploy(owner, source)
  expect(heard.filter((each) => each.startsWith(short))).toEqual([`${short} bytes=300000-`, `${short} whole`])
})

it('a pull that a stop interrupted continues by itself, and a deployment of the same image joins it', async () => {
  const { source, heard, hold } = await listen({ bytes: 300_000, times: 0 })
  hold(300_000)
  const killed = (await startImpatient()).deploy(owner, source, { name: 'named' })
  const isCut = () => partial().some((each) => sizeOf(each) === 300_000)
  await expect.poll(isCut).toBe(true)
  heard.length = 0
  // Meanwhile the first runtime hangs, as if it were not there.
  hold(0)
  const images = await start()
  images.continuePulls()
  expect(await images.deploy(owner, source, { name: 'named' })).toMatchObject({ name: 'named', kind: 'oci' })
  expect(heard.filter((each) => each.startsWith(short))).toEqual([`${short} bytes=300000-`])
  expect(heard).toHaveLength(2)
  server!.close()
  server!.closeAllConnections()
  await expect(killed).rejects.toMatchObject({ reason: 'registry_unavailable' })
  await expect.poll(() => readdirSync(join(folder.path, 'images/pulls'))).toEqual([])
})

it('a pull of an account that left does not continue', async () => {
  const { source, heard, hold } = await listen({ bytes: 300_000, times: 0 })
  hold(300_000)
  const killed = (await startImpatient()).deploy(owner, source)
  await expect.poll(() => partial().some((each) => sizeOf(each) === 300_000)).toBe(true)
  heard.length = 0
  const images = await start({ accountId: () => 'another' })
  images.continuePulls()
  await expect.poll(() => readdirSync(join(folder.path, 'images/pulls'))).toEqual([])
  expect(heard).toEqual([])
  server!.close()
  server!.closeAllConnections()
  await expect(killed).rejects.toMatchObject({ reason: 'registry_unavailable' })
})
