/** Layers that are downloaded at once, from a registry that answers when the test lets it. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { directNetwork } from '../../../../../../tests/harness/direct-network.ts'
import { openBlobs } from '../blobs.ts'
import { createPlaces, type Places } from './at-once.ts'
import { pullImage } from './registry.ts'

const digestOf = (content: string) => `sha256:${hash('sha256', content, 'hex')}`
const config = '{"rootfs":{"diff_ids":[]}}'
const layers = Array.from({ length: 7 }, (_, at) => String(at).repeat(100_000))
const blobs = new Map([config, ...layers].map((each) => [digestOf(each), each]))
const describeBlob = (content: string) => ({ digest: digestOf(content), size: content.length })
const manifest = JSON.stringify({ config: describeBlob(config), layers: layers.map(describeBlob) })

let folder: string
let server: Server
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'at-once-'))
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
  rmSync(folder, { recursive: true })
})

type Open = Map<string, ServerResponse>

/** A pull from a registry that leaves requests for layers open, and calls a function with each change of them. */
async function pull(
  onRequest: (open: Open, all: number) => void,
  places: Places = createPlaces(),
  signal?: AbortSignal,
) {
  const open: Open = new Map()
  let most = 0
  let all = 0
  server = createServer((request, response) => {
    if (request.url?.includes('/manifests/')) return response.end(manifest)
    const digest = `sha256:${request.url?.split('sha256:')[1]}`
    if (digest === digestOf(config)) return response.end(config)
    open.set(digest, response)
    response.on('close', () => open.delete(digest))
    most = Math.max(most, open.size)
    return onRequest(open, ++all)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const source = `127.0.0.1:${(server.address() as AddressInfo).port}/team/app:1`
  const packed = pullImage(await openBlobs(folder), source, {
    authFile: '',
    outbound: directNetwork,
    announce: async () => undefined,
    watch: (content) => content,
    maxSize: 1e7,
    mayReuse: () => false,
    places,
    ...(signal && { signal }),
    waiting: { wait: () => new Promise(() => undefined), random: () => 1, now: () => 0 },
  })
  return { packed, open, most: () => most }
}
const answer = (open: Open) => {
  for (const [digest, response] of open) response.end(blobs.get(digest))
}
const incoming = () => readdirSync(join(folder, 'incoming'))

it('downloads three layers at once, in their order, and no more', async () => {
  const all = createPlaces()
  let more = 0
  const places: Places = {
    run(work) {
      more++
      return all.run(work)
    },
  }
  const { packed, most } = await pull((open, count) => {
    // Only when three are open, or the last one is, does the registry answer.
    if (open.size === 3 || count === layers.length) answer(open)
  }, places)
  expect((await packed).layers.map(({ digest }) => digest)).toEqual(layers.map(digestOf))
  // The first one needs no place.
  expect([most(), more]).toEqual([3, 2])
})

/** Uses places until there are no more; how many there were, and how to leave them. */
function fill(places: Places) {
  const done = Promise.withResolvers<void>()
  let count = 0
  while (places.run(() => done.promise)) count++
  return { count, leave: done.resolve }
}

it('downloads one layer after the other while other pulls have all places, and never waits for them', async () => {
  const places = createPlaces(1)
  const { leave } = fill(places)
  const { packed, most } = await pull(answer, places)
  await packed
  expect(most()).toBe(1)
  leave()
  await expect.poll(() => fill(places).count).toBe(1)
})

it('gives its places back when it is complete and when it fails', async () => {
  const places = createPlaces(2)
  await (await pull(answer, places)).packed
  server.close()
  const failing = await pull((open) => {
    for (const each of open.values()) each.writeHead(404).end()
  }, places)
  await expect(failing.packed).rejects.toMatchObject({ reason: 'not_found' })
  expect(fill(places).count).toBe(2)
})

it.each<[string, (response: ServerResponse) => unknown, number]>([
  ['hang', (response) => response.write('x'), 0],
  // Their connections end after the 30 s that a registry has for an answer.
  ['do not answer', () => undefined, 2],
  ['wait for another attempt', (response) => response.destroy(), 0],
])(
  'a failure of one layer ends the others at once, which %s, and leaves nothing',
  async (_, others, left) => {
    const { packed, open } = await pull((present, all) => {
      const [first, ...more] = present.values()
      if (all < 3) return
      for (const each of more) others(each)
      setImmediate(() => first?.writeHead(404).end())
    })
    await expect(packed).rejects.toMatchObject({ reason: 'not_found' })
    await expect.poll(() => open.size).toBe(left)
    expect(incoming()).toEqual([])
  },
)

it('a pull that is given up ends at once, with the reason, also without any answer, and leaves nothing', async () => {
  const given = new AbortController()
  const reason = new RpcError('wrong_account', 'the account was removed')
  const { packed } = await pull(
    (_, all) => {
      if (all === 3) given.abort(reason)
    },
    createPlaces(),
    given.signal,
  )
  await expect(packed).rejects.toBe(reason)
  expect(incoming()).toEqual([])
})
