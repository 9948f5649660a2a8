/** Parts of layers on the disk: across restarts, for their owner only, and with everything that may be under their names. */
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { needs } from '../../../../../tests/harness/installed.ts'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { keyOf, type Owner } from '../deployments/ownership.ts'
import { openPartials } from './partials.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())

const owner: Owner = { account_id: 'account', client_id: 'client' }
const content = Buffer.from(Array.from({ length: 1000 }, (_, at) => `line ${at}\n`).join(''))
const blob = { digest: `sha256:${hash('sha256', content, 'hex')}`, size: content.length }
const place = () => join(folder.path, 'partial')
const names = () => readdirSync(place())
const day = 86_400_000
const open = (now = Date.now(), ageMs = day) => openPartials(place(), ageMs, { now: () => now })

/** A download of the content that breaks off after so many bytes, and the positions from which it was requested. */
function source({
  breaksAfter = Number.POSITIVE_INFINITY,
  bytes = content,
  reason = 'registry_unavailable' as const,
} = {}) {
  const requested: number[] = []
  async function* download(from: number) {
    requested.push(from)
    yield bytes.subarray(from, from + breaksAfter)
    if (from + breaksAfter < bytes.length) throw new RpcError(reason, 'the connection broke')
  }
  return { requested, download }
}

/** Leaves a part of the content on the disk, as a runtime that stopped. */
async function leave(bytes: number, of = owner): Promise<string> {
  const layers = (await open()).begin(of)
  const { download } = source({ breaksAfter: bytes })
  await expect(layers.complete(blob, download, () => undefined)).rejects.toThrow('broke')
  return join(place(), names().find((name) => existsSync(join(place(), name)))!)
}

/** What completes the layer: the positions that were requested, and the bytes that were found. */
async function complete(partials: Awaited<ReturnType<typeof openPartials>>, of = owner) {
  const found: number[] = []
  const { download, requested } = source()
  const draft = await partials.begin(of).complete(blob, download, (bytes) => found.push(bytes))
  expect(readFileSync(draft!.path).equals(content)).toBe(true)
  expect(draft).toMatchObject(blob)
  return { requested, found }
}

it('a layer continues where it broke off, also after a restart', async () => {
  await leave(2000)
  expect(await complete(await open())).toEqual({ requested: [2000], found: [2000] })
})

it('a layer that is whole on the disk is not requested', async () => {
  const path = await leave(2000)
  writeFileSync(path, content)
  expect(await complete(await open())).toEqual({ requested: [], found: [content.length] })
})

it('another project or account gets nothing of it', async () => {
  await leave(content.length - 1)
  const partials = await open()
  for (const other of [
    { ...owner, client_id: 'other' },
    { ...owner, account_id: 'other' },
    { account_id: 'account/client', client_id: '' },
  ])
    expect(await complete(partials, other)).toEqual({ requested: [0], found: [0] })
  expect(await complete(partials)).toMatchObject({ requested: [content.length - 1] })
})

it('a layer that is removed to make room while a pull begins with it is downloaded, and stays', async () => {
  await leave(2000)
  const partials = await open()
  const [unused] = partials.unused([])
  const removal = unused!.remove()
  const { requested } = await complete(partials)
  await removal
  expect([requested, names()]).toEqual([[0], [expect.any(String)]])
})

it('two pulls do not write the same layer: the second one gets undefined, until the first one ends', async () => {
  await leave(2000)
  const partials = await open()
  const [first, second] = [partials.begin(owner), partials.begin(owner)]
  const waiting = Promise.withResolvers<void>()
  const held = first.complete(
    blob,
    async function* (from) {
      await waiting.promise
      yield content.subarray(from)
    },
    () => undefined,
  )
  const { download, requested } = source()
  expect(await second.complete(blob, download, () => undefined)).toBeUndefined()
  second.end()
  waiting.resolve()
  expect(first.has((await held)!)).toBe(true)
  expect(second.has((await held)!)).toBe(false)
  expect(first.has({ ...(await held)!, path: join(place(), 'another') })).toBe(false)
  first.end()
  await expect.poll(() => partials.unused([]).length).toBe(1)
  expect((await second.complete(blob, download, () => undefined))?.size).toBe(content.length)
  expect(requested).toEqual([])
})

it('the same pull may continue a layer, from another source', async () => {
  const layers = (await open()).begin(owner)
  const cut = source({ breaksAfter: 3000 })
  await expect(layers.complete(blob, cut.download, () => undefined)).rejects.toThrow('broke')
  const { download, requested } = source()
  expect(await layers.complete(blob, download, () => undefined)).toMatchObject(blob)
  expect(requested).toEqual([3000])
})

describe('a part on the disk that is', () => {
  it('changed is noticed when the layer is whole, and the layer downloaded once more', async () => {
    const path = await leave(2000)
    const changed = readFileSync(path)
    changed[7]! ^= 1
    writeFileSync(path, changed)
    expect(await complete(await open())).toEqual({ requested: [2000, 0], found: [2000, -content.length] })
  })

  it('cut short continues from its end, and one that is empty or too long from the start', async () => {
    for (const [length, from] of [
      [1500, 1500],
      [0, 0],
      [content.length + 1, 0],
    ] as const) {
      truncateSync(await leave(2000), length)
      expect(await complete(await open())).toEqual({ requested: [from], found: [from] })
      rmSync(place(), { recursive: true })
    }
  })

  const victim = () => join(folder.path, 'victim')
  const swaps: [string, (path: string) => void][] = [
    ['a symbolic link', (path) => symlinkSync(victim(), path)],
    ['a symbolic link to nowhere', (path) => symlinkSync(join(folder.path, 'nowhere'), path)],
    ['a hard link', (path) => linkSync(victim(), path)],
    ['a folder', (path) => mkdirSync(join(path, 'inner'), { recursive: true })],
    ['a pipe', (path) => void execFileSync('mkfifo', [path])],
  ]

  it.each(swaps)(
    '%s is removed, before a start and while the runtime runs, and its target stays',
    async (_, swap) => {
      for (const isRunning of [false, true]) {
        const path = await leave(2000)
        const before = isRunning ? await open() : undefined
        writeFileSync(victim(), 'victim')
        rmSync(path)
        swap(path)
        const partials = before ?? (await open())
        if (!isRunning) expect(names()).toEqual([])
        expect((await complete(partials)).requested).toEqual([0])
        expect(readFileSync(victim(), 'utf8')).toBe('victim')
        expect(existsSync(join(folder.path, 'nowhere'))).toBe(false)
        rmSync(place(), { recursive: true })
        rmSync(victim())
      }
    },
  )

  it('of another user is removed', needs('root'), async () => {
    for (const isRunning of [false, true]) {
      const path = await leave(2000)
      const before = isRunning ? await open() : undefined
      chownSync(path, 65_534, 65_534)
      expect((await complete(before ?? (await open()))).requested).toEqual([0])
      rmSync(place(), { recursive: true })
    }
  })

  it('a file with another name is removed at the start', async () => {
    mkdirSync(place())
    const valid = `${'0'.repeat(16)}.${'1'.repeat(32)}.${'2'.repeat(64)}`
    for (const name of ['x', '0'.repeat(64), '.hidden', `0${valid}`, `${valid}0`])
      writeFileSync(join(place(), name), 'x')
    await open()
    expect(names()).toEqual([])
  })
})

it('a pull fails if its folder was removed meanwhile', async () => {
  const path = await leave(2000)
  const partials = await open()
  await complete(partials)
  rmSync(place(), { recursive: true })
  const { download } = source()
  await expect(
    partials.begin({ ...owner, client_id: 'other' }).complete(blob, download, () => undefined),
  ).rejects.toMatchObject({
    code: 'ENOENT',
    syscall: 'open',
  })
  expect(existsSync(path)).toBe(false)
})

describe('when a pull ends', () => {
  it('what arrived of one layer is listed, also if another one became part of an image', async () => {
    const partials = await open()
    const layers = partials.begin(owner)
    const done = await layers.complete(blob, source().download, () => undefined)
    const other = { digest: `sha256:${'f'.repeat(64)}`, size: content.length }
    const cut = source({ breaksAfter: 10 })
    await expect(layers.complete(other, cut.download, () => undefined)).rejects.toThrow('broke')
    rmSync(done!.path)
    layers.end()
    await expect.poll(() => partials.unused([]).map(({ bytes }) => bytes)).toEqual([10])
  })

  it('a layer with which another one begins at that moment is not listed as unused', async () => {
    await leave(2000)
    const partials = await open()
    const first = partials.begin(owner)
    const cut = source({ breaksAfter: 10 })
    await expect(first.complete(blob, cut.download, () => undefined)).rejects.toThrow('broke')
    first.end()
    const [begun, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const held = partials.begin(owner).complete(
      blob,
      async function* (from) {
        begun.resolve()
        await waiting.promise
        yield content.subarray(from)
      },
      () => undefined,
    )
    await begun.promise
    expect(partials.unused([])).toEqual([])
    waiting.resolve()
    expect(await held).toMatchObject(blob)
  })
})

it('a failure that no repetition repairs leaves nothing', async () => {
  const wrong = source({ bytes: Buffer.alloc(content.length) })
  const first = (await open()).begin(owner)
  await expect(first.complete(blob, wrong.download, () => undefined)).rejects.toMatchObject({
    reason: 'digest_mismatch',
  })
  expect([wrong.requested, names()]).toEqual([[0], []])
  for (const reason of ['not_found', 'storage_full'] as const) {
    const { download } = source({ breaksAfter: 10, reason: reason as 'registry_unavailable' })
    const layers = (await open()).begin(owner)
    await expect(layers.complete(blob, download, () => undefined)).rejects.toThrow('broke')
    expect(names()).toEqual([])
  }
})

describe('what is stored', () => {
  it('is removed when it is old, and not before', async () => {
    const path = await leave(2000)
    const now = Date.now()
    utimesSync(path, now / 1000, (now - day + 1000) / 1000)
    await open(now)
    expect(names()).toHaveLength(1)
    await open(now + 1001)
    expect(names()).toEqual([])
  })

  it('is removed exactly at its age', async () => {
    const path = await leave(2000)
    const seconds = Math.floor(Date.now() / 1000)
    utimesSync(path, seconds, seconds)
    await open(seconds * 1000 + day - 1)
    expect(names()).toHaveLength(1)
    await open(seconds * 1000 + day)
    expect(names()).toEqual([])
  })

  it('is removed while the runtime runs, within an hour', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    try {
      let now = Date.now()
      const partials = await openPartials(place(), day, { now: () => now })
      const layers = partials.begin(owner)
      const cut = source({ breaksAfter: 2000 })
      await expect(layers.complete(blob, cut.download, () => undefined)).rejects.toThrow('broke')
      layers.end()
      await expect.poll(() => partials.unused([]).length).toBe(1)
      now += 2 * day
      vi.advanceTimersByTime(3_600_000)
      await expect.poll(names).toEqual([])
    } finally {
      vi.useRealTimers()
    }
  })

  it('may be removed twice', async () => {
    await leave(2000)
    const [unused] = (await open()).unused([])
    await unused!.remove()
    await expect(unused!.remove()).resolves.toBeUndefined()
  })

  it('is removed with its account', async () => {
    await leave(2000)
    await leave(2000, { ...owner, account_id: 'other' })
    const partials = await open()
    await partials.keepOnly('account')
    expect(await complete(partials)).toMatchObject({ requested: [2000] })
    await (await open()).keepOnly('')
    expect(names()).toEqual([])
  })

  it('makes room for others: its bytes count for its owner, unless a pull uses it', async () => {
    await leave(2000)
    const partials = await open()
    const [unused] = partials.unused([keyOf(owner, ''), 'other'])
    expect(unused).toMatchObject({ owner: keyOf(owner, ''), bytes: 2000 })
    expect(partials.unused([])[0]!.owner).not.toBe(keyOf(owner, ''))
    const layers = partials.begin(owner)
    const waiting = Promise.withResolvers<void>()
    const held = layers.complete(
      blob,
      async function* (from) {
        await waiting.promise
        yield content.subarray(from)
      },
      () => undefined,
    )
    expect(partials.unused([])).toEqual([])
    await unused!.remove()
    waiting.resolve()
    expect(readFileSync((await held)!.path).equals(content)).toBe(true)
    layers.end()
    await expect.poll(() => partials.unused([]).length).toBe(1)
    await partials.unused([])[0]!.remove()
    expect(names()).toEqual([])
  })

  it('is a thousand files at most: the owner with most of them loses the oldest', async () => {
    const own = await leave(2000)
    utimesSync(own, 0, Date.now() / 1000 - 6000)
    // Sorted after those of the owner with few, and by name the newest first.
    const other = `${'f'.repeat(16)}.${'1'.repeat(32)}.`
    const nameOf = (at: number) => other + at.toString(16).padStart(64, '0')
    for (let at = 0; at < 1000; at++) {
      const path = join(place(), nameOf(at))
      writeFileSync(path, 'x')
      utimesSync(path, 0, Date.now() / 1000 - at)
    }
    await open()
    expect(names()).toHaveLength(1000)
    expect(existsSync(own)).toBe(true)
    expect(names()).not.toContain(nameOf(999))
  })
})
