import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  open,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { recordSyncs } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { countedSource, manyTurns, opens } from '../../../../../tests/harness/unread.ts'
import { type Blobs, openBlobs } from './blobs.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let blobs: Blobs
beforeEach(async () => {
  folder = await temporaryFolder()
  blobs = await openBlobs(join(folder.path, 'images'))
})
afterEach(() => folder.remove())

const content = Buffer.alloc(200_000, 'content')
const readAll = (digest: string) => Readable.from(blobs.read(digest)).toArray()
const store = async () =>
  (
    await blobs.commit(
      await blobs.draft(
        (async function* () {
          yield content
        })(),
      ),
    )
  ).digest
const flip = (digest: string, at: number) => {
  const bytes = readFileSync(blobs.pathOf(digest))
  bytes[at]! ^= 1
  writeFileSync(blobs.pathOf(digest), bytes)
}

/** Content in one piece. */
async function* once(bytes: Buffer) {
  yield bytes
}

it('a blob is on the disk before it gets its name, and then its name', async () => {
  const draft = await blobs.draft(once(content))
  const syncs = await recordSyncs()
  onTestFinished(syncs.stop)
  const { digest } = await blobs.commit(draft)
  expect(syncs.paths).toEqual([draft.path, dirname(blobs.pathOf(digest))])
})

it('content with another digest than expected is not stored', async () => {
  const expected = `sha256:${'0'.repeat(64)}`
  await expect(blobs.draft(once(content), expected)).rejects.toMatchObject({ reason: 'digest_mismatch' })
  expect(readdirSync(join(folder.path, 'images/incoming'))).toEqual([])
  const { digest, size } = await blobs.draft(once(content))
  expect(size).toBe(content.length)
  expect(await blobs.draft(once(content), digest)).toMatchObject({ digest })
})

/** Keeps all threads that write files busy, like a disk that does not write. @returns lets them continue */
async function stallDisk(): Promise<() => Promise<void>> {
  const pipe = join(folder.path, 'pipe')
  execFileSync('mkfifo', [pipe])
  // Opening a pipe waits for its other end.
  const threads = Array.from(
    { length: Number(process.env.UV_THREADPOOL_SIZE ?? 4) },
    () => new Promise<number>((resolve) => open(pipe, 'r', (_, descriptor) => resolve(descriptor))),
  )
  await manyTurns()
  return async () => {
    const writer = openSync(pipe, constants.O_RDWR)
    for (const descriptor of await Promise.all(threads)) closeSync(descriptor)
    closeSync(writer)
  }
}

describe('the blob store', () => {
  it(
    'reads no more of the content than the disk writes',
    opens('apps/runtime/src/services/images/blobs.ts'),
    async () => {
      const goOn = await stallDisk()
      const source = countedSource()
      const draft = blobs.draft(source)
      await manyTurns()
      const read = source.read
      await goOn()
      await blobs.discard([await draft])
      expect(read).toBeGreaterThan(0)
      expect(read).toBeLessThan(4 * 1024 * 1024)
    },
  )

  it('gives back what was stored', async () => {
    const digest = await store()
    expect(Buffer.concat(await readAll(digest))).toEqual(content)
  })

  it.each([0, 100_000, content.length - 1])(
    'refuses content with byte %i flipped, before its end',
    async (at) => {
      const digest = await store()
      flip(digest, at)
      let bytes = 0
      const read = async () => {
        for await (const chunk of blobs.read(digest)) bytes += chunk.length
      }
      await expect(read()).rejects.toMatchObject({
        reason: 'digest_mismatch',
        message: expect.stringMatching(/deploy the image again/),
      })
      expect(bytes).toBeLessThan(content.length)
    },
  )

  it('refuses content that is cut short, and content that is missing', async () => {
    const digest = await store()
    writeFileSync(blobs.pathOf(digest), content.subarray(1))
    await expect(readAll(digest)).rejects.toMatchObject({ reason: 'digest_mismatch' })
    rmSync(blobs.pathOf(digest))
    await expect(readAll(digest)).rejects.toMatchObject({ reason: 'digest_mismatch' })
  })

  it('repairs damaged content when it is stored again', async () => {
    const digest = await store()
    flip(digest, 7)
    await store()
    expect(Buffer.concat(await readAll(digest))).toEqual(content)
  })
})
