/** Uploads that arrive in parts, from connections that break. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { openBlobs } from './blobs.ts'
import { openUploads, type Uploads } from './uploads.ts'

const own = { account_id: 'a', client_id: 'c' }
const other = { account_id: 'b', client_id: 'c' }
const image = { id: 'c-image' }

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let uploads: Uploads
let now: number
beforeEach(async () => {
  folder = await temporaryFolder()
  now = 0
  const clock = { now: () => now } as never
  uploads = await openUploads(stored(), await openBlobs(join(folder.path, 'images')), clock)
})
afterEach(() => folder.remove())

const stored = () => join(folder.path, 'uploads')
/** Files with bytes; the others are notes. */
const names = () => readdirSync(stored()).filter((name) => name.length === 36)

/** A connection: what it sends, and whether it breaks after that. */
async function* sent(text: string, cause?: Error) {
  yield Buffer.from(text)
  if (cause) throw cause
}
const add = (handle: string, from: number, text: string, owner = own) =>
  uploads.resume(
    owner,
    handle,
    from,
    () => sent(text),
    () => undefined,
  )

/** A connection that stays open and brings nothing more, until a request ends it. */
function silent(text: string) {
  const end = Promise.withResolvers<void>()
  return {
    async *content() {
      yield Buffer.from(text)
      await end.promise
      throw new Error('cut')
    },
    end: () => end.resolve(),
  }
}
const deployed = (handle: string, as?: string) =>
  uploads.use(own, handle, as, async (path, file) => ({ id: `${readFileSync(path, 'utf8')} of ${file}` }))

describe('an upload in parts', () => {
  it('has what all connections brought, and is deployed with the name of its file', async () => {
    const { handle, ...rest } = await uploads.begin(own, 9, 'web.tar')
    expect(rest).toEqual({ offset: 0, length: 9, expiresAt: 3_600_000 })
    const cut = new Error('cut')
    const broken = uploads.resume(
      own,
      handle,
      0,
      () => sent('abc', cut),
      () => undefined,
    )
    await expect(broken).rejects.toBe(cut)
    now = 5
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 3, expiresAt: 3_600_000 })
    await expect(deployed(handle)).rejects.toMatchObject({
      ...{ reason: 'conflict', message: 'the upload has 3 of its 9 bytes' },
    })
    expect(await add(handle, 3, 'defghi')).toMatchObject({ offset: 9, length: 9 })
    expect(await uploads.stateOf(own, handle)).toMatchObject({ expiresAt: 3_600_005 })
    expect(await deployed(handle)).toBe('abcdefghi of web.tar')
    expect(names()).toEqual([])
  })

  it.each([
    ['before', 2],
    ['after', 4],
    ['far after', Number.MAX_SAFE_INTEGER],
  ])('is not written %s its next byte', async (_, from) => {
    const { handle } = await uploads.begin(own, 9)
    await add(handle, 0, 'abc')
    await expect(add(handle, from, 'x')).rejects.toMatchObject({
      ...{ reason: 'conflict', message: `the next byte of the upload is 3, not ${from}` },
    })
    expect(readFileSync(join(stored(), names()[0]!), 'utf8')).toBe('abc')
  })

  it('gets no more bytes than were announced', async () => {
    const { handle } = await uploads.begin(own, 4)
    await expect(add(handle, 0, 'abcde')).rejects.toMatchObject({ reason: 'invalid_params' })
    expect(await add(handle, 0, 'abcd')).toMatchObject({ offset: 4 })
    await expect(add(handle, 4, 'e')).rejects.toMatchObject({ reason: 'invalid_params' })
    expect(await deployed(handle, 'named')).toBe('abcd of undefined')
  })

  it('ends a connection that is half-open, for each request that comes later', async () => {
    const { handle } = await uploads.begin(own, 9)
    const first = silent('abc')
    const broken = uploads.resume(own, handle, 0, first.content, first.end).catch((cause) => cause.message)
    await expect.poll(async () => readFileSync(join(stored(), names()[0]!), 'utf8')).toBe('abc')
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 3 })
    expect(await broken).toBe('cut')
    const [second, third] = [silent('d'), silent('d')]
    const both = [second, third].map((each) =>
      uploads.resume(own, handle, 3, each.content, each.end).catch((cause) => cause.message),
    )
    await expect.poll(async () => readFileSync(join(stored(), names()[0]!), 'utf8')).toBe('abcd')
    await add(handle, 4, 'efghi')
    expect((await Promise.all(both)).toSorted()).toEqual(['cut', 'the next byte of the upload is 4, not 3'])
    expect(await deployed(handle)).toBe('abcdefghi of undefined')
  })

  it('belongs to its owner', async () => {
    const { handle } = await uploads.begin(own, 4)
    const foreign = [
      () => uploads.stateOf(other, handle),
      () => add(handle, 0, 'abcd', other),
      () => uploads.remove(other, handle),
      () => uploads.use(other, handle, undefined, async () => image),
    ]
    for (const each of foreign) await expect(each()).rejects.toMatchObject({ reason: 'not_found' })
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 0 })
  })

  it.each<[string, (handle: string) => Promise<unknown>]>([
    ['is removed by its owner', (handle) => uploads.remove(own, handle)],
    ['is removed when the account leaves', () => uploads.keepOnly('b')],
  ])('%s, also while bytes arrive', async (_, remove) => {
    const { handle } = await uploads.begin(own, 9)
    const open = silent('abc')
    const broken = uploads.resume(own, handle, 0, open.content, open.end).catch((cause) => cause.message)
    await expect.poll(async () => readFileSync(join(stored(), names()[0]!), 'utf8')).toBe('abc')
    await remove(handle)
    expect(await broken).toBe('cut')
    expect(names()).toEqual([])
    await expect(add(handle, 3, 'd')).rejects.toMatchObject({ reason: 'not_found' })
  })

  it('leaves an hour after its last byte, and not while bytes arrive', async () => {
    const { handle } = await uploads.begin(own, 9)
    const open = silent('abc')
    const broken = uploads.resume(own, handle, 0, open.content, open.end).catch(() => undefined)
    now = 3_600_000
    await uploads.begin(own, 1)
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 3 })
    await broken
    now += 3_600_000
    await uploads.begin(own, 1)
    await expect(uploads.stateOf(own, handle)).rejects.toMatchObject({ reason: 'not_found' })
    expect(names()).toHaveLength(1)
  })

  it('leaves the disk by itself, with one timer for all', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      for (let at = 0; at < 3; at++) await uploads.begin(own, 1)
      expect(vi.getTimerCount()).toBe(1)
      now = 3_599_999
      await vi.advanceTimersByTimeAsync(60_000)
      expect([vi.getTimerCount(), names().length]).toEqual([1, 3])
      now = 3_600_000
      await vi.advanceTimersByTimeAsync(60_000)
    } finally {
      vi.useRealTimers()
    }
    await expect.poll(names).toEqual([])
  })

  it('makes room for others with the bytes that it has', async () => {
    const { handle } = await uploads.begin(own, 1_000_000)
    await add(handle, 0, 'abc')
    expect(uploads.unused()).toMatchObject([{ bytes: 3, usedAt: 0 }])
    const open = silent('d')
    const broken = uploads.resume(own, handle, 3, open.content, open.end).catch(() => undefined)
    expect(uploads.unused()).toEqual([])
    open.end()
    await broken
    await uploads.unused()[0]!.remove()
    expect(names()).toEqual([])
  })

  it('is one of eight, however many are begun', async () => {
    const handles: string[] = []
    for (let at = 0; at < 100; at++) handles.push((await uploads.begin(own, 1)).handle)
    expect(names()).toHaveLength(8)
    await uploads.begin(other, 1)
    for (let at = 0; at < 100; at++) await uploads.begin(own, 1)
    expect(uploads.unused().map(({ owner }) => owner.slice(0, 1))).toContain('b')
    await expect(uploads.stateOf(own, handles[0]!)).rejects.toMatchObject({ reason: 'not_found' })
  })
})

describe('a whole upload', () => {
  const receive = (text: string) => uploads.receive(own, sent(text))

  it('is on the disk once, however often it is sent', async () => {
    const { handle } = await receive('same')
    expect(await receive('same')).toEqual({ handle, size: 4 })
    expect(names()).toHaveLength(1)
    expect(await deployed(handle)).toBe('same of undefined')
    expect(names()).toEqual([])
    await expect(deployed(handle)).rejects.toMatchObject({ reason: 'not_found' })
  })

  it('that is sent again during its deployment stays for another one', async () => {
    const { handle } = await receive('same')
    await uploads.use(own, handle, undefined, async () => {
      await receive('same')
      return image
    })
    expect(await deployed(handle)).toBe('same of undefined')
  })
})

describe('the image of an upload in parts', () => {
  const deployOne = async () => {
    const { handle } = await uploads.begin(own, 1)
    await add(handle, 0, 'a')
    await deployed(handle)
    return handle
  }

  it('makes no room for others, and removes no upload', async () => {
    const { handle } = await uploads.begin(own, 1)
    for (let at = 0; at < 8; at++) await deployOne()
    expect(uploads.unused()).toHaveLength(1)
    for (let at = 0; at < 7; at++) await uploads.begin(own, 1)
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 0 })
  })

  it('is given for the newest 64', async () => {
    const first = await deployOne()
    const handles: string[] = []
    for (let at = 0; at < 64; at++) handles.push(await deployOne())
    await uploads.begin(own, 1)
    expect(await deployed(handles[0]!)).toBe('a of undefined')
    await expect(deployed(first)).rejects.toMatchObject({ reason: 'not_found' })
  })

  it('is given again under the same name, without the file', async () => {
    const { handle } = await uploads.begin(own, 1)
    await add(handle, 0, 'a')
    await deployed(handle, 'named')
    const again = uploads.use(own, handle, 'named', () => Promise.reject(new Error('deployed twice')))
    expect(await again).toBe('a of undefined')
    await expect(deployed(handle, 'another')).rejects.toMatchObject({ reason: 'not_found' })
    await expect(add(handle, 0, 'b')).rejects.toMatchObject({ reason: 'conflict' })
    now += 3_600_000
    await uploads.begin(own, 1)
    await expect(deployed(handle, 'named')).rejects.toMatchObject({ reason: 'not_found' })
  })

  it('is deployed again after a failure', async () => {
    const { handle } = await uploads.begin(own, 1)
    await add(handle, 0, 'a')
    const failing = uploads.use(own, handle, undefined, () => Promise.reject(new Error('not now')))
    await expect(failing).rejects.toThrow('not now')
    expect(await deployed(handle)).toBe('a of undefined')
  })

  it('leaves the disk when the last deployment of it is complete', async () => {
    const { handle } = await uploads.begin(own, 1)
    await add(handle, 0, 'a')
    const slow = Promise.withResolvers<void>()
    const second = uploads.use(own, handle, 'second', async (path) => {
      await slow.promise
      return { id: readFileSync(path, 'utf8') }
    })
    await deployed(handle, 'first')
    slow.resolve()
    expect(await second).toBe('a')
    expect(names()).toEqual([])
  })
})
