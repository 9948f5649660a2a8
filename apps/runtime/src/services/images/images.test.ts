/** What clients deploy is in one document: its images have limits. */
import { readdirSync, symlinkSync } from 'node:fs'
import { statfs, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { systemClock } from '@selvedge/service-kit/clock'
import { openDocument } from '@selvedge/service-kit/store'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  functionImage,
  layoutFiles,
  savedFiles,
  savedImage,
  type TarEntry,
  tarOf,
} from '../../../../../tests/harness/archives.ts'
import { directNetwork } from '../../../../../tests/harness/direct-network.ts'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { type DeploymentStore, deploymentsFormat } from '../deployments/deployments.ts'
import { keyOf } from '../deployments/ownership.ts'
import { type Blobs, openBlobs } from './blobs.ts'
import type { Naming } from './image-name.ts'
import { type Images, openImages } from './images.ts'
import { ownBlobs } from './stored-images.ts'

const owner = { account_id: 'a', client_id: 'c' }
const limit = 200
const maxSize = 64 * 1024 * 1024

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let store: DeploymentStore
let images: Images
let accountId: string
beforeEach(async () => {
  accountId = owner.account_id
  folder = await temporaryFolder()
  store = await openDocument(join(folder.path, 'deployments'), deploymentsFormat)
  images = await openImages(partsOf(await openBlobs(join(folder.path, 'images'))))
})
const partsOf = (blobs: Blobs) => ({
  folder: join(folder.path, 'images'),
  store,
  blobs,
  clock: systemClock,
  reserve: 0,
  maxSize,
  registries: { authFile: '', outbound: directNetwork },
  accountId: () => accountId,
  onRemoved: () => undefined,
  onPull: () => undefined,
  former: { all: () => [], drop: async () => undefined },
})
afterEach(async () => {
  await store.close()
  await folder.remove()
})

async function* bytes(archive: Buffer) {
  yield archive
}
const deploy = (archive: Buffer) => images.receive(owner, bytes(archive))
const named = (name: string) => functionImage('export default {}', name)

/** Stores images in the document as if they had been deployed one after the other: all of them have the same content. */
async function deployMany(count: number): Promise<void> {
  await deploy(named('image0'))
  await store.update((value) => {
    const [first] = Object.values(value.images)
    const all = Array.from({ length: count }, (_, at) => {
      const usedAt = first!.usedAt - 1000 * (count - at)
      const image = { ...first!, name: `image${at}`, usedAt, created: usedAt }
      return [keyOf(owner, image.name), image] as const
    })
    return { ...value, images: Object.fromEntries(all) }
  })
}

it('keeps 200 images: a new one replaces the one that is unused the longest', async () => {
  await deployMany(limit)
  for (let at = limit; at < limit + 20; at++) await deploy(named(`image${at}`))
  const names = images.list(owner).map(({ name }) => name)
  expect(names).toHaveLength(limit)
  expect(names).toContain(`image${limit + 19}`)
  expect(names).not.toContain('image19')
  // One that is there already needs no room.
  await deploy(named('image30'))
  expect(images.list(owner)).toHaveLength(limit)
})

it('refuses another one when containers use all of them, and keeps nothing of it', async () => {
  await deployMany(limit)
  const [image] = images.list(owner)
  // All images have the same content, which this container uses.
  const container = { accountId, imageKey: keyOf(owner, image!.name), digest: image!.digest }
  await store.update((value) => ({ ...value, containers: { b: container as never } }))
  await expect(deploy(functionImage('export default 1', 'another'))).rejects.toMatchObject({
    reason: 'limit_exceeded',
  })
  expect(images.list(owner)).toHaveLength(limit)
  expect(readdirSync(join(folder.path, 'images', 'incoming'))).toEqual([])
})

const withManifest = (files: TarEntry[], change: (manifest: Record<string, string[]>) => object): Buffer =>
  tarOf(
    files.map((file) => {
      if (file.path !== 'manifest.json') return file
      const [manifest] = JSON.parse(file.content!.toString())
      return { ...file, content: JSON.stringify([change(manifest)]) }
    }),
  )

it.each([
  ['more than 100 tags', { RepoTags: Array.from({ length: 50_000 }, (_, at) => `tag${at}:1`) }],
  ['a tag of more than 300 characters', { RepoTags: ['x'.repeat(1_000_000)] }],
])('refuses an archive with %s', async (_, change) => {
  const files = savedFiles({ layers: [tarOf([{ path: 'index.js', content: '1' }])] })
  const archive = withManifest(files, (manifest) => ({ ...manifest, ...change }))
  await expect(deploy(archive)).rejects.toMatchObject({ reason: 'invalid_image' })
  expect(store.value).toEqual(deploymentsFormat.initial)
})

it.each([tarOf([]), Buffer.alloc(10_240)])(
  'accepts an image with a layer that has no entry',
  async (empty) => {
    const layers = [tarOf([{ path: 'bin/a', content: '1' }]), empty]
    const { name } = await deploy(savedImage({ layers, config: { Cmd: ['/bin/a'] } }))
    expect(images.list(owner).map((each) => each.name)).toEqual([name])
  },
)

it('refuses an archive with more than 200 layers', async () => {
  const layer = tarOf([{ path: 'bin/a', content: '1' }])
  const files = layoutFiles({ layers: Array.from({ length: 300 }, () => layer), config: { Cmd: ['/a'] } })
  const once = [...new Map(files.map((each) => [each.path, each])).values()]
  await expect(deploy(tarOf(once))).rejects.toMatchObject({
    reason: 'invalid_image',
    message: 'the image has 300 layers; the limit is 200',
  })
})

it('keeps nothing of an image if its account left during the upload', async () => {
  accountId = 'b'
  await expect(deploy(named('late'))).rejects.toMatchObject({ reason: 'wrong_account' })
  expect(store.value).toEqual(deploymentsFormat.initial)
  expect(readdirSync(join(folder.path, 'images', 'sha256'))).toEqual([])
})

it('keeps nothing of an image of which one part is stored and the next one cannot be', async () => {
  const real = await openBlobs(join(folder.path, 'images'))
  let commits = 0
  const blobs: Blobs = {
    ...real,
    commit: (draft) => {
      commits++
      if (commits < 3) return real.commit(draft)
      return Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
    },
  }
  const failing = await openImages(partsOf(blobs))
  const layers = ['a', 'b'].map((content) => tarOf([{ path: 'etc/file', content }]))
  const archive = savedImage({ layers, config: { Cmd: ['/x'] } })
  await expect(failing.receive(owner, bytes(archive))).rejects.toThrow()
  expect(commits).toBe(3)
  for (const part of ['sha256', 'incoming'])
    expect(readdirSync(join(folder.path, 'images', part))).toEqual([])
})

describe.each([
  ['another account with the same client', { account_id: 'b', client_id: 'c' }],
  ['another client of the account', { account_id: 'a', client_id: 'd' }],
])('%s', (_, other) => {
  it('neither lists nor removes an image of the owner', async () => {
    await deploy(named('web'))
    expect(images.list(other)).toEqual([])
    for (const id of ['web', 'c-web', 'c/web', 'a/c/web', keyOf(owner, 'web')])
      await expect(images.remove(other, id)).rejects.toMatchObject({ reason: 'not_found' })
    expect(images.list(owner).map(({ id }) => id)).toEqual(['c-web'])
  })

  it('deploys no upload of the owner, and does not use it up', async () => {
    const { handle } = await images.upload(owner, bytes(named('web')))
    accountId = other.account_id
    await expect(images.deploy(other, handle)).rejects.toMatchObject({ reason: 'not_found' })
    accountId = owner.account_id
    expect(await images.deploy(owner, handle)).toMatchObject({ name: 'web' })
  })

  it('has images of its own under the same names', async () => {
    await deploy(named('web'))
    accountId = other.account_id
    await images.receive(other, bytes(named('web')))
    await images.remove(other, 'web')
    expect(images.list(other)).toEqual([])
    expect(images.list(owner)).toHaveLength(1)
  })
})

it('an image that a container uses is not removed', async () => {
  await deploy(named('web'))
  const { digest } = store.value.images[keyOf(owner, 'web')]!
  const container = { clientId: 'c', accountId: 'a', name: 'x', imageKey: keyOf(owner, 'web'), digest }
  await store.update((value) => ({ ...value, containers: { [keyOf(owner, 'x')]: container as never } }))
  await expect(images.remove(owner, 'web')).rejects.toMatchObject({ reason: 'in_use' })
  expect(images.list(owner)).toMatchObject([{ containers: 1 }])
})

it('uploads of a former account are removed when the device changes hands', async () => {
  const { handle } = await images.upload(owner, bytes(named('web')))
  accountId = 'b'
  await images.followAccount()
  accountId = owner.account_id
  await expect(images.deploy(owner, handle)).rejects.toMatchObject({ reason: 'not_found' })
})

it('a full account makes room among its own images, and not among those of a former account', async () => {
  const former = { account_id: 'b', client_id: 'c' }
  accountId = 'b'
  await images.receive(former, bytes(named('former')))
  accountId = 'a'
  await deploy(named('first'))
  const { [keyOf(owner, 'first')]: first } = store.value.images
  const more = Array.from({ length: limit - 1 }, (_, at) => [
    keyOf(owner, `more-${at}`),
    { ...first!, name: `more-${at}`, usedAt: first!.usedAt + 1 },
  ])
  await store.update((value) => ({ ...value, images: { ...value.images, ...Object.fromEntries(more) } }))
  await deploy(named('last'))
  expect(images.list(former).map(({ name }) => name)).toEqual(['former'])
  const names = images.list(owner).map(({ name }) => name)
  expect([names.length, names.includes('last')]).toEqual([limit, true])
})

it('a pull uses only blobs again that the same account and client deployed', async () => {
  await deploy(named('web'))
  const { [keyOf(owner, 'web')]: image } = store.value.images
  expect(ownBlobs(store.value, owner)).toContain(image!.digest)
  for (const other of [
    { account_id: 'b', client_id: 'c' },
    { account_id: 'a', client_id: 'd' },
  ])
    expect(ownBlobs(store.value, other)).toEqual(new Set())
})

it('refuses an archive that has too many bytes where nothing is unpacked: in a frame to be skipped', async () => {
  const chunk = Buffer.alloc(1024 * 1024)
  let chunks = 0
  async function* endless(first: Buffer) {
    yield first
    for (; ; chunks++) yield chunk
  }
  const skipped = Buffer.alloc(8)
  skipped.writeUInt32LE(0x184d2a50)
  skipped.writeUInt32LE(0xffffffff, 4)
  const first = Buffer.concat([zstdCompressSync(named('x')), skipped])
  await expect(images.receive(owner, endless(first))).rejects.toMatchObject({
    reason: 'invalid_image',
  })
  expect(chunks * chunk.length).toBeLessThan(2 * maxSize)
  expect(images.list(owner)).toEqual([])
})

it('reads 8 archives of a project at the same time, and refuses more, but not of another project', async () => {
  const end = Promise.withResolvers<void>()
  async function* slow(archive: Buffer) {
    yield archive
    await end.promise
  }
  const read = Array.from({ length: 8 }, (_, at) => images.receive(owner, slow(named(`slow${at}`))))
  await expect(deploy(named('late'))).rejects.toMatchObject({ reason: 'busy' })
  const other = { ...owner, client_id: 'd' }
  expect((await images.receive(other, bytes(named('other')))).name).toBe('other')
  end.resolve()
  await Promise.all(read)
  expect((await deploy(named('late'))).name).toBe('late')
})

describe('the name of an image', () => {
  const refName = 'org.opencontainers.image.ref.name'
  const layout = (source: string, annotations: Readonly<Record<string, string>>) =>
    tarOf(layoutFiles({ layers: [tarOf([{ path: 'index.js', content: source }])], annotations }))
  const receive = (archive: Buffer, naming: Naming = {}) => images.receive(owner, bytes(archive), 0, naming)
  const nameOf = async (annotations: Readonly<Record<string, string>>, naming?: Naming) =>
    (await receive(layout('export default {}', annotations), naming)).name

  it.each([
    [{ 'io.containerd.image.name': 'registry.example/team/app:2', [refName]: '2' }, 'app'],
    [{ [refName]: 'registry.example:5000/team/app:2' }, 'app'],
    [{ [refName]: 'app:2' }, 'app'],
    [{ [refName]: 'team/app' }, 'app'],
    [{ [refName]: 'latest' }, 'file'],
    [{ [refName]: '' }, 'file'],
    [{}, 'file'],
  ])('with the annotations %j is %s', async (annotations, name) => {
    expect(await nameOf(annotations as Record<string, string>, { file: 'file.tar.gz' })).toBe(name)
  })

  it('is what the caller gives, whatever the archive has', async () => {
    expect(await nameOf({ [refName]: 'app:2' }, { given: 'mine', file: 'file.tar' })).toBe('mine')
  })

  it.each([
    ['layout.oci.tar', 'layout'],
    ['C:\\images\\My App.TGZ', 'my-app'],
    ['/tmp/../../etc/passwd', 'passwd'],
    ['.tar', 'image'],
    [undefined, 'image'],
  ])('of the file %j is %s', async (file, name) => {
    expect(await nameOf({}, { file })).toBe(name)
  })

  it('that follows from the file alone never replaces another image', async () => {
    const [first, second] = ['export default 1', 'export default 2'].map((each) =>
      layout(each, { [refName]: 'latest' }),
    )
    await receive(first!, { file: 'a.tar' })
    await receive(first!, { file: 'a.tar' })
    await expect(receive(second!, { file: 'a.tar' })).rejects.toMatchObject({ reason: 'conflict' })
    expect(images.list(owner)).toHaveLength(1)
    await receive(second!, { given: 'a' })
    await receive(second!, { file: 'b.tar' })
    expect(images.list(owner).map(({ name }) => name)).toEqual(['a', 'b'])
  })

  it.each(['', '///', '@', ':latest', 'x/:1', '日本/アプリ:1'])(
    'is not the reference %j',
    async (reference) => {
      const layouts = ['1', '2'].map((text) =>
        layout(`export default ${text}`, { 'io.containerd.image.name': reference }),
      )
      expect((await receive(layouts[0]!)).name).toBe('image')
      await expect(receive(layouts[1]!)).rejects.toMatchObject({ reason: 'conflict' })
      expect((await receive(layouts[1]!, { file: 'app.tar' })).name).toBe('app')
    },
  )

  it('that does not arrive leaves nothing behind', async () => {
    const cut = Promise.reject(new Error('cut short'))
    cut.catch(() => undefined)
    await expect(images.receive(owner, bytes(named('x')), 0, cut)).rejects.toThrow('cut short')
    expect(images.list(owner)).toEqual([])
    for (const name of ['incoming', 'sha256'])
      expect(readdirSync(join(folder.path, 'images', name))).toEqual([])
  })
})

describe('content that work under way uses', () => {
  const files = () => readdirSync(join(folder.path, 'images', 'sha256'))

  it('stays when its image is deployed again and removed, until the work is complete', async () => {
    await deploy(functionImage('export default 1', 'web'))
    const { digest } = images.list(owner)[0]!
    const content = store.value.contents[digest]!
    await images.hold([content], async () => {
      // The same content may be in use twice.
      await images.hold([content], async () => undefined)
      await deploy(functionImage('export default 2', 'web'))
      expect(files()).toContain(content.entry!.digest.slice('sha256:'.length))
      await images.remove(owner, 'web')
      await images.sweep()
      expect(files()).toHaveLength(2)
    })
    await expect.poll(files).toEqual([])
  })

  it('makes no room for other images', async () => {
    await deploy(functionImage('export default "held"', 'held'))
    const { [keyOf(owner, 'held')]: image } = store.value.images
    const more = Array.from({ length: limit - 1 }, (_, at) => [
      keyOf(owner, `more-${at}`),
      { ...image!, name: `more-${at}` },
    ])
    await store.update((value) => ({ ...value, images: { ...value.images, ...Object.fromEntries(more) } }))
    const late = () => deploy(functionImage('export default "late"', 'late'))
    const held = store.value.contents[image!.digest]!
    await images.hold([held], () => expect(late()).rejects.toMatchObject({ reason: 'limit_exceeded' }))
    expect((await late()).name).toBe('late')
  })
})

it('content of a former release stays, also across a start, until others need the room', async () => {
  const files = () => readdirSync(join(folder.path, 'images', 'sha256'))
  await deploy(functionImage('export default 1', 'web'))
  const content = store.value.contents[images.list(owner)[0]!.digest]!
  let releases = [{ key: keyOf(owner, 'shop'), deployedAt: 0, contents: [content] }]
  const drop = async () => {
    releases = []
  }
  const open = async (reserve: number) =>
    openImages({
      ...partsOf(await openBlobs(join(folder.path, 'images'))),
      former: { all: () => releases, drop },
      reserve,
    })
  images = await open(0)
  await images.remove(owner, 'web')
  images = await open(0)
  await images.sweep()
  expect(files()).toContain(content.entry!.digest.slice('sha256:'.length))
  // More than the disk has: the release is less than that, so it stays.
  images = await open(Number.MAX_SAFE_INTEGER)
  await expect(deploy(named('late'))).rejects.toMatchObject({ reason: 'storage_full' })
  expect(releases).toHaveLength(1)
  const { bavail, bsize } = await statfs(folder.path)
  releases = [{ ...releases[0]!, contents: [{ ...content, config: { ...content.config, size: 1e15 } }] }]
  images = await open(bavail * bsize * 2)
  await expect(deploy(named('late'))).rejects.toMatchObject({ reason: 'storage_full' })
  expect([releases, files()]).toEqual([[], []])
})

it('a project at its limit leaves room for others, and their images of the last day make no room for it', async () => {
  await deploy(named('first'))
  const { [keyOf(owner, 'first')]: first } = store.value.images
  const fill = (client_id: string, usedAt: number) =>
    store.update((value) => ({
      ...value,
      images: {
        ...value.images,
        ...Object.fromEntries(
          Array.from({ length: limit }, (_, at) => [
            keyOf({ ...owner, client_id }, `more-${at}`),
            { ...first!, clientId: client_id, name: `more-${at}`, usedAt },
          ]),
        ),
      },
    }))
  const now = systemClock.now()
  await images.remove(owner, 'first')
  await deploy(named('first'))
  await fill('d', now)
  await deploy(named('web'))
  await fill('e', now)
  await images.remove(owner, 'web')
  await images.remove(owner, 'first')
  // The account has 400 images: two projects of the last day.
  await expect(deploy(named('web'))).rejects.toMatchObject({ reason: 'limit_exceeded' })
  await fill('e', now - 86_400_000)
  expect((await deploy(named('web'))).name).toBe('web')
  const count = (client_id: string) => images.list({ ...owner, client_id }).length
  expect([count('d'), count('e')]).toEqual([limit, limit - 1])
})

it.each([
  ['receive', () => images.receive(owner, bytes(named('x')), maxSize + 1)],
  ['upload', () => images.upload(owner, bytes(named('x')), maxSize + 1)],
])('refuses an archive that is announced as too large before it reads it: %s', async (_, send) => {
  await expect(send()).rejects.toMatchObject({
    reason: 'invalid_image',
    message: `the archive has ${maxSize + 1} bytes; the limit is ${maxSize} (images.maxSize)`,
  })
})

it('refuses a file of the device that is too large, however little of it is on the disk', async () => {
  const path = join(folder.path, 'sparse.tar')
  await writeFile(path, '')
  await truncate(path, maxSize + 1)
  await expect(images.deploy(owner, path)).rejects.toMatchObject({
    reason: 'invalid_image',
    message: expect.stringContaining(`the archive has ${maxSize + 1} bytes`),
  })
})

it('a path leads to no file that the runtime stores for another project, also by a link', async () => {
  const other = { ...owner, client_id: 'other' }
  await images.upload(other, bytes(named('theirs')))
  const uploads = join(folder.path, 'images/uploads')
  const found = readdirSync(uploads).map((name) => join(uploads, name))
  symlinkSync(uploads, join(folder.path, 'link'))
  for (const path of [...found, ...found.map((each) => each.replace('images/uploads', 'link'))])
    await expect(images.deploy(owner, path)).rejects.toMatchObject({
      ...{ reason: 'not_found', message: `there is no file ${JSON.stringify(path)} on this device` },
    })
  await writeFile(join(folder.path, 'own.tar'), named('own'))
  expect((await images.deploy(owner, join(folder.path, 'own.tar'))).name).toBe('own')
})
