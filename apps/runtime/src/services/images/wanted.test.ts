/** Archives that arrive, of an account that leaves meanwhile. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { systemClock } from '@selvedge/service-kit/clock'
import { openDocument } from '@selvedge/service-kit/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { deploymentsFormat } from '../deployments/deployments.ts'
import { openBlobs } from './blobs.ts'
import { type Images, openImages } from './images.ts'
import { wantedChunks } from './wanted.ts'

const owner = { account_id: 'a', client_id: 'c' }
const left = new RpcError('wrong_account', 'the account was removed')

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())

/** Images, and what ends the work that is watched. */
async function open() {
  const ends = new Set<(cause: RpcError) => void>()
  const images = await openImages({
    folder: join(folder.path, 'images'),
    store: await openDocument(join(folder.path, 'deployments'), deploymentsFormat),
    blobs: await openBlobs(join(folder.path, 'images')),
    clock: systemClock,
    reserve: 0,
    former: { all: () => [], drop: async () => undefined },
    maxSize: 1e8,
    registries: { authFile: '', outbound: directNetwork },
    accountId: () => owner.account_id,
    onRemoved: () => undefined,
    onPull: () => undefined,
    watchWanted: (_, end) => {
      ends.add(end)
      return () => ends.delete(end)
    },
  })
  return { images, ends }
}

/** An archive of which nothing more comes after its first bytes. */
function stalled() {
  const isRead = Promise.withResolvers<void>()
  async function* content() {
    yield Buffer.alloc(512)
    isRead.resolve()
    await new Promise(() => undefined)
  }
  return { content: content(), isRead: isRead.promise }
}

it.each<[string, (images: Images, content: AsyncIterable<Uint8Array>) => Promise<unknown>]>([
  ['deployed as it arrives', (images, content) => images.receive(owner, content)],
  ['uploaded as a whole', (images, content) => images.upload(owner, content)],
  [
    'uploaded in parts',
    async (images, content) => {
      const { handle } = await images.uploads.begin(owner, 1000)
      return images.uploads.resume(owner, handle, 0, content, () => undefined)
    },
  ],
])('an archive that is %s ends with the reason, and frees its place', async (_, receive) => {
  const { images, ends } = await open()
  const { content, isRead } = stalled()
  const received = receive(images, content)
  await isRead
  const [end] = ends
  end?.(left)
  await expect(received).rejects.toBe(left)
  expect(ends.size).toBe(0)
  expect(readdirSync(join(folder.path, 'images/incoming'))).toEqual([])
})

it('content is passed on until it is not wanted, also if it is not read then', async () => {
  const unwanted = new AbortController()
  let isClosed = false
  async function* content() {
    try {
      for (let at = 0; ; at++) yield Buffer.of(at)
    } finally {
      isClosed = true
    }
  }
  const got: number[] = []
  const read = async () => {
    for await (const [byte] of wantedChunks(content(), unwanted.signal)) {
      got.push(byte!)
      if (got.length === 2) unwanted.abort(left)
    }
  }
  await expect(read()).rejects.toBe(left)
  expect([got, isClosed]).toEqual([[0, 1], true])
})

it('content that ends is complete, and is not watched then', async () => {
  const unwanted = new AbortController()
  async function* content() {
    yield Buffer.of(7)
  }
  const got: number[] = []
  for await (const [byte] of wantedChunks(content(), unwanted.signal)) got.push(byte!)
  expect(got).toEqual([7])
  unwanted.abort(left)
})

it('an error of the source is passed on', async () => {
  async function* content() {
    yield* [] as Uint8Array[]
    throw new Error('cut')
  }
  const read = wantedChunks(content(), new AbortController().signal).next()
  await expect(read).rejects.toThrow('cut')
})
