/** Uploads on the disk: across starts of the runtime, for their owner only, and with everything that may be under their names. */
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  appendFileSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { recordSyncs } from '@selvedge/service-kit/testing'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { needs } from '../../../../../tests/harness/installed.ts'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import { openBlobs } from './blobs.ts'
import { openUploads, type Uploads } from './uploads.ts'

const own: Owner = { account_id: 'a', client_id: 'c' }
const day = 86_400_000
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let now: number
beforeEach(async () => {
  folder = await temporaryFolder()
  now = 1_000_000
})
afterEach(() => folder.remove())

/** Starts as the next run does. What the one before has in memory is lost. */
const start = async (partialMs = day) =>
  openUploads(stored(), await openBlobs(join(folder.path, 'images')), { now: () => now } as never, partialMs)
const stored = () => join(folder.path, 'uploads')
const names = () => readdirSync(stored())
const notes = () => names().filter((name) => name.length === 64)
const pathOf = (handle: string) => join(stored(), handle.replace('upload:', ''))

async function* sent(text: string, cause?: Error) {
  yield Buffer.from(text)
  if (cause) throw cause
}
const add = (uploads: Uploads, handle: string, from: number, text: string, owner = own, cause?: Error) =>
  uploads.resume(
    ...([owner, handle, from, () => sent(text, cause), () => undefined] as Parameters<Uploads['resume']>),
  )
/** Begins an upload and adds bytes on a connection that breaks. */
async function leave(text = 'abcdef', owner = own, length = 9): Promise<string> {
  const uploads = await start()
  const { handle } = await uploads.begin(owner, length, 'web.tar')
  await expect(add(uploads, handle, 0, text, owner, new Error('cut'))).rejects.toThrow('cut')
  return handle
}
const deployed = (uploads: Uploads, handle: string, as?: string) =>
  uploads.use(own, handle, as, async (path, file) => ({ id: `${readFileSync(path, 'utf8')} of ${file}` }))

describe('after a start of the runtime', () => {
  it('an upload continues after the bytes that are on the disk, and is deployed under its name', async () => {
    const handle = await leave()
    const uploads = await start()
    expect(await uploads.stateOf(own, handle)).toEqual({
      ...{ handle, offset: 6, length: 9, expiresAt: now + day },
    })
    expect(await add(uploads, handle, 6, 'ghi')).toMatchObject({ offset: 9 })
    expect(await deployed(await start(), handle)).toBe('abcdefghi of web.tar')
    expect(names()).toHaveLength(1)
  })

  it('its name is synced before its offset is sent, and by no start', async () => {
    const handle = await leave()
    const syncs = await recordSyncs()
    onTestFinished(syncs.stop)
    const uploads = await start()
    expect(syncs.paths).toEqual([])
    await uploads.stateOf(own, handle)
    expect(syncs.paths).toEqual([stored()])
  })

  it('bytes without a synced note count as missing, and their note is removed', async () => {
    const uploads = await start()
    const { handle } = await uploads.begin(own, 3)
    const any = await open(folder.path)
    const files = vi.spyOn(Object.getPrototypeOf(any), 'sync')
    await any.close()
    // The note has its name by then.
    files.mockResolvedValueOnce(undefined)
    files.mockRejectedValue(Object.assign(new Error('i/o error'), { code: 'EIO', syscall: 'fsync' }))
    onTestFinished(() => files.mockRestore())
    await expect(add(uploads, handle, 0, 'abc')).rejects.toThrow('i/o error')
    files.mockRestore()
    now++
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 0 })
    expect(await add(uploads, handle, 0, 'abc')).toMatchObject({ offset: 3 })
    expect(notes()).toHaveLength(1)
  })

  it('one of which no byte arrived is there as well', async () => {
    const { handle } = await (await start()).begin(own, 3)
    expect(await add(await start(), handle, 0, 'abc')).toMatchObject({ offset: 3 })
  })

  it('bytes that were not written down are sent again', async () => {
    const handle = await leave()
    // As after a kill: the system has more than what was made durable.
    appendFileSync(pathOf(handle), 'other bytes than those that are sent again')
    const uploads = await start()
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 6 })
    await add(uploads, handle, 6, 'ghi')
    expect(await deployed(uploads, handle)).toBe('abcdefghi of web.tar')
  })

  it('a stop between two notes leaves the last one', async () => {
    const handle = await leave('abc')
    const [former] = notes()
    const text = readFileSync(join(stored(), former!))
    await add(await start(), handle, 3, 'def')
    writeFileSync(join(stored(), former!), text)
    const uploads = await start()
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 6 })
    expect(notes()).toHaveLength(1)
    await add(uploads, handle, 6, 'ghi')
    const complete = readFileSync(join(stored(), notes()[0]!))
    const name = notes()[0]!
    await deployed(uploads, handle)
    writeFileSync(join(stored(), name), complete)
    expect(await deployed(await start(), handle)).toBe('abcdefghi of web.tar')
  })

  it('an archive that was sent as a whole is there', async () => {
    const { handle } = await (await start()).receive(own, sent('whole'))
    const uploads = await start()
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 5, length: 5 })
    expect(await deployed(uploads, handle)).toBe('whole of undefined')
    expect(names()).toEqual([])
  })

  it('the image of one that was deployed is known for an hour', async () => {
    const handle = await leave('abcdefghi')
    await deployed(await start(), handle, 'named')
    now += 3_599_999
    const again = (await start()).use(own, handle, 'named', () => Promise.reject(new Error('again')))
    expect(await again).toBe('abcdefghi of web.tar')
    await expect(deployed(await start(), handle, 'other')).rejects.toMatchObject({ reason: 'not_found' })
    now += 1
    await expect(deployed(await start(), handle, 'named')).rejects.toMatchObject({ reason: 'not_found' })
    expect(names()).toEqual([])
  })

  it('a deployment that was under way is done again', async () => {
    const handle = await leave('abcdefghi')
    const begun = Promise.withResolvers<void>()
    void (await start()).use(own, handle, undefined, () => {
      begun.resolve()
      return new Promise(() => undefined)
    })
    await begun.promise
    expect(await deployed(await start(), handle)).toBe('abcdefghi of web.tar')
  })

  it('one that was removed is not there', async () => {
    const handle = await leave()
    await (await start()).remove(own, handle)
    expect(names()).toEqual([])
    await expect((await start()).stateOf(own, handle)).rejects.toMatchObject({ reason: 'not_found' })
  })

  it('one that was removed while bytes arrived leaves nothing', async () => {
    const uploads = await start()
    const { handle } = await uploads.begin(own, 9)
    const end = Promise.withResolvers<void>()
    const content = async function* () {
      yield Buffer.from('abc')
      await end.promise
    }
    const added = uploads.resume(own, handle, 0, content, end.resolve).catch(() => undefined)
    await expect.poll(() => readFileSync(pathOf(handle), 'utf8')).toBe('abc')
    await uploads.keepOnly('b')
    await added
    expect(names()).toEqual([])
  })
})

describe('after a start, the owner', () => {
  const others: [string, Owner][] = [
    ['of another project', { ...own, client_id: 'other' }],
    ['of another account', { ...own, account_id: 'other' }],
    ['with names that are written alike', { account_id: 'a/c', client_id: '' }],
  ]
  it.each(others)('%s has no access', async (_, other) => {
    const handle = await leave()
    const uploads = await start()
    const foreign = [
      () => uploads.stateOf(other, handle),
      () => add(uploads, handle, 6, 'ghi', other),
      () => uploads.remove(other, handle),
      () => uploads.use(other, handle, undefined, async () => ({ id: 'x' })),
    ]
    for (const each of foreign)
      await expect(each()).rejects.toMatchObject({
        ...{ reason: 'not_found', message: `there is no upload "${handle}"` },
      })
    expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 6 })
  })

  it('has the bytes counted for its part of the disk', async () => {
    const handle = await leave()
    appendFileSync(pathOf(handle), 'more')
    now += 5
    const [unused, ...more] = (await start()).unused()
    expect(unused).toMatchObject({ owner: keyOf(own, ''), bytes: 6, usedAt: 1_000_000 })
    expect(more).toEqual([])
    await unused!.remove()
    expect(names()).toEqual([])
  })

  it('loses them when its account has left', async () => {
    await leave()
    const other = await leave('abc', { ...own, account_id: 'other' })
    const uploads = await start()
    await uploads.keepOnly('other')
    expect(await uploads.stateOf({ ...own, account_id: 'other' }, other)).toMatchObject({ offset: 3 })
    expect(names()).toHaveLength(2)
  })
})

describe('a file of an upload that is', () => {
  const victim = () => join(folder.path, 'victim')
  const notOwn = 'its file is no regular file of the runtime'
  const changed = 'its file has other content than was sent'
  const swapFor = (make: (path: string) => void) => (path: string) => {
    rmSync(path)
    make(path)
  }
  const swaps: [string, (path: string) => void, string][] = [
    ['missing', (path) => rmSync(path), 'its file is missing'],
    ['cut short', (path) => truncateSync(path, 5), 'its file has 5 of the 6 bytes that were stored'],
    ['empty', (path) => truncateSync(path, 0), 'its file has 0 of the 6 bytes that were stored'],
    ['changed', (path) => writeFileSync(path, 'abcdeF'), changed],
    ['longer and changed', (path) => writeFileSync(path, 'Abcdef and more'), changed],
    ['a symbolic link', swapFor((path) => symlinkSync(victim(), path)), notOwn],
    ['a hard link', swapFor((path) => linkSync(victim(), path)), notOwn],
    ['a folder', swapFor((path) => mkdirSync(join(path, 'x'), { recursive: true })), notOwn],
    ['a pipe', swapFor((path) => void execFileSync('mkfifo', [path])), notOwn],
    ['a link to a device', swapFor((path) => symlinkSync('/dev/zero', path)), notOwn],
  ]

  it.each(swaps)('%s is noticed, the upload is removed, and its target stays', async (_, swap, damage) => {
    for (const isRunning of [false, true]) {
      const handle = await leave()
      writeFileSync(victim(), 'victim')
      const before = isRunning ? await start() : undefined
      swap(pathOf(handle))
      const uploads = before ?? (await start())
      const refusals = [
        () => uploads.stateOf(own, handle),
        () => add(uploads, handle, 6, 'ghi'),
        () => deployed(uploads, handle),
      ]
      for (const each of refusals) {
        const refused = await each().catch((cause) => cause)
        expect(refused).toMatchObject({ reason: 'not_found' })
        if (!isRunning) expect(refused.message).toBe(`the upload "${handle}" was removed: ${damage}`)
      }
      expect(names()).toEqual([])
      expect(uploads.unused()).toEqual([])
      expect(readFileSync(victim(), 'utf8')).toBe('victim')
      rmSync(victim())
    }
  })

  it('of another upload is noticed', async () => {
    const [first, second] = [await leave('abcdef'), await leave('ABCDEF', { ...own, client_id: 'other' })]
    const aside = join(folder.path, 'aside')
    renameSync(pathOf(first), aside)
    renameSync(pathOf(second), pathOf(first))
    renameSync(aside, pathOf(second))
    const uploads = await start()
    await expect(uploads.stateOf(own, first)).rejects.toThrow(changed)
    await expect(uploads.stateOf({ ...own, client_id: 'other' }, second)).rejects.toThrow(changed)
    expect(names()).toEqual([])
  })

  it('of another user is noticed', needs('root'), async () => {
    const handle = await leave()
    chownSync(pathOf(handle), 65_534, 65_534)
    await expect((await start()).stateOf(own, handle)).rejects.toThrow(notOwn)
    expect(names()).toEqual([])
  })

  it('damaged can be sent again, and the reason is known for an hour', async () => {
    const handle = await leave()
    truncateSync(pathOf(handle), 1)
    const uploads = await start()
    const { handle: another } = await uploads.begin(own, 3)
    expect(await add(uploads, another, 0, 'abc')).toMatchObject({ offset: 3 })
    now += 3_600_000
    await uploads.begin(own, 1)
    await expect(uploads.stateOf(own, handle)).rejects.toThrow(`there is no upload "${handle}"`)
  })
})

describe('a note of an upload that', () => {
  const edit = (change: (value: Record<string, unknown>) => object) => (path: string) => {
    const text = JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8'))))
    rmSync(path)
    writeFileSync(join(stored(), hash('sha256', text, 'hex')), text)
  }
  it.each<[string, (path: string) => void]>([
    ['has another owner', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"c"', '"d"'))],
    ['is cut short', (path) => truncateSync(path, 50)],
    ['is missing', (path) => rmSync(path)],
    ['leads out of the folder', edit((value) => ({ ...value, stored: '../victim' }))],
    ['has more bytes than the upload', edit((value) => ({ ...value, bytes: 10 }))],
    ['has a negative number of bytes', edit((value) => ({ ...value, bytes: -1 }))],
    ['has a fraction of a byte', edit((value) => ({ ...value, bytes: 0.5 }))],
    ['has another member', edit((value) => ({ ...value, more: 1 }))],
    ['has a wrong digest', edit((value) => ({ ...value, digest: 'x' }))],
    ['has a wrong handle', edit((value) => ({ ...value, handle: 'upload:../x' }))],
  ])('%s is removed with its upload', async (_, change) => {
    const handle = await leave()
    writeFileSync(join(folder.path, 'victim'), 'victim')
    change(join(stored(), notes()[0]!))
    const uploads = await start()
    await expect(uploads.stateOf(own, handle)).rejects.toThrow(`there is no upload "${handle}"`)
    expect(names()).toEqual([])
    expect(readFileSync(join(folder.path, 'victim'), 'utf8')).toBe('victim')
  })

  it('states more than is on the disk announces nothing', async () => {
    const handle = await leave()
    edit((value) => ({ ...value, bytes: 8 }))(join(stored(), notes()[0]!))
    await expect((await start()).stateOf(own, handle)).rejects.toThrow('its file has 6 of the 8 bytes')
  })
})

describe('how long an upload stays', () => {
  it('is counted from its last byte, across starts', async () => {
    const handle = await leave('abc')
    now += day - 1
    await add(await start(), handle, 3, 'def')
    now += day - 1
    expect(await (await start()).stateOf(own, handle)).toMatchObject({ expiresAt: now + 1 })
    now += 1
    await expect((await start()).stateOf(own, handle)).rejects.toThrow('there is no upload')
    expect(names()).toEqual([])
  })

  it('is over while the runtime runs, also for one of an earlier run', async () => {
    await leave()
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      await start()
      now += day
      await vi.advanceTimersByTimeAsync(60_000)
    } finally {
      vi.useRealTimers()
    }
    await expect.poll(names).toEqual([])
  })

  it('is not longer for a clock that was set back', async () => {
    const handle = await leave()
    now -= 500_000
    expect(await (await start()).stateOf(own, handle)).toMatchObject({ expiresAt: now + day })
  })

  it('is not shorter for a device that starts with a clock in the past, which is set later', async () => {
    const handle = await leave()
    now = 0
    const uploads = await start()
    expect(await uploads.stateOf(own, handle)).toMatchObject({ expiresAt: day })
    expect(uploads.unused()).toMatchObject([{ usedAt: 0 }])
    now = 1_000_000 + day - 1
    await uploads.begin(own, 1)
    expect(await uploads.stateOf(own, handle)).toMatchObject({ expiresAt: now + 1 })
  })

  it('is over after its time with a clock that stays in the past', async () => {
    await leave()
    now = 0
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
    try {
      await start()
      await vi.advanceTimersByTimeAsync(day - 60_000)
      expect(names()).toHaveLength(2)
      await vi.advanceTimersByTimeAsync(60_000)
    } finally {
      vi.useRealTimers()
    }
    await expect.poll(names).toEqual([])
  })

  it('is an hour and one run with images.partialAge 0, which removes those of earlier runs', async () => {
    const handle = await leave()
    const uploads = await start(0)
    expect(names()).toEqual([])
    await expect(uploads.stateOf(own, handle)).rejects.toThrow('there is no upload')
    const begun = await uploads.begin(own, 3)
    expect(begun).toMatchObject({ expiresAt: now + 3_600_000 })
    await add(uploads, begun.handle, 0, 'abc')
    expect(names()).toHaveLength(1)
    await expect((await start(0)).stateOf(own, begun.handle)).rejects.toThrow('there is no upload')
  })
})

it('at most eight uploads are there after a start: the newest', async () => {
  const handles: string[] = []
  for (let at = 0; at < 8; at++) {
    now++
    handles.push(await leave())
  }
  // An earlier run with another limit.
  const [note] = notes()
  const value = JSON.parse(readFileSync(join(stored(), note!), 'utf8'))
  for (let at = 0; at < 3; at++) {
    const name = `00000000-0000-0000-0000-00000000000${at}`
    const text = JSON.stringify({ ...value, handle: `upload:${name}`, stored: name, time: at })
    writeFileSync(join(stored(), hash('sha256', text, 'hex')), text)
    writeFileSync(join(stored(), name), 'abcdef')
  }
  const uploads = await start()
  for (const each of handles) expect(await uploads.stateOf(own, each)).toMatchObject({ offset: 6 })
  expect(names()).toHaveLength(16)
})

it('a folder full of other names is emptied', async () => {
  const handle = await leave()
  for (let at = 0; at < 300; at++) writeFileSync(join(stored(), `${at}`.padStart(64, '0')), '{}')
  writeFileSync(join(stored(), '00000000-0000-0000-0000-000000000000'), 'no note names it')
  mkdirSync(join(stored(), '.x.draft'))
  const uploads = await start()
  expect(await uploads.stateOf(own, handle)).toMatchObject({ offset: 6 })
  expect(names()).toHaveLength(2)
})

it('nothing is made by a start', async () => {
  await start()
  expect(existsSync(stored())).toBe(false)
})

it('an archive that cannot be stored leaves nothing', async () => {
  const uploads = await start()
  writeFileSync(stored(), 'no folder')
  await expect(uploads.receive(own, sent('whole'))).rejects.toMatchObject({ code: 'EEXIST' })
  expect(readdirSync(join(folder.path, 'images/incoming'))).toEqual([])
})
