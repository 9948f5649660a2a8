/** Releases of apps on the disk: what is stored is read, also after a start, and what is removed or damaged is gone. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { folderOf } from './app-configs.ts'
import { createReleaseFiles, type ReleaseFile, type ReleaseFiles } from './release-files.ts'

const key = 'a/c/shop'
const other = 'a/c/mail'
let folder: string
let releases: ReleaseFiles
const open = (...keys: string[]) => createReleaseFiles(folder, keys)
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'releases-'))
  releases = open()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`
/** A release with one image for each letter of a text. */
const release = (revision: number, images: string, secrets: string[] = []): ReleaseFile => ({
  release: {
    ...{ revision, deployedAt: revision * 1000, secrets, completed: [] },
    members: [...images].map((service) => ({ service, networks: [], dependsOn: [], volumes: [] })),
  },
  containers: [...images].map((each) => ({
    ...{ name: `shop-${each}`, image: each, imageKey: `a/c/${each}`, retries: null },
    env: { 'MCM.CONFIGS': '', X: 'é' },
    content: { kind: 'oci', config: { digest: digestOf(each), size: 1 }, layers: [], entry: null, size: 1 },
  })),
})
const filesOf = (of = key) => {
  const own = join(folder, folderOf(of))
  return existsSync(own) ? readdirSync(own).toSorted() : []
}
const digestsOf = () => releases.all().flatMap(({ contents }) => contents.map(({ config }) => config.digest))

it('a release is read as it was stored, also after a start; another one is not there', async () => {
  await releases.store(key, release(7, 'ab', ['s']))
  for (const each of [releases, open(key)]) {
    expect(each.read(key, 7)).toEqual(release(7, 'ab', ['s']))
    expect([each.read(key, 8), each.read(other, 7)]).toEqual([undefined, undefined])
    expect(each.all()).toMatchObject([{ key, revision: 7, deployedAt: 7000, secrets: ['s'], configs: [] }])
  }
  expect(open().all()).toEqual([])
  expect(open(other).all()).toEqual([])
})

it('a release replaces that of its number, and stays beside others', async () => {
  await releases.store(key, release(1, 'a'))
  await releases.store(key, release(2, 'b'))
  await releases.store(key, release(1, 'c'))
  expect(digestsOf().toSorted()).toEqual([digestOf('b'), digestOf('c')])
  expect(filesOf()).toEqual(['1.json', '2.json'])
})

it('content is found by its digest, in all releases of all apps', async () => {
  await releases.store(key, release(1, 'ab'))
  await releases.store(other, release(1, 'c'))
  for (const each of ['a', 'b', 'c'])
    expect(releases.contentOf(digestOf(each))?.config.digest).toBe(digestOf(each))
  expect(releases.contentOf(digestOf('d'))).toBeUndefined()
})

it('the former release is the newest one before that differs from the present one', async () => {
  expect(releases.former(key, 1)).toBeUndefined()
  for (const [revision, images] of [
    [3, 'c'],
    [1, 'a'],
    [2, 'b'],
    [4, 'c'],
    [5, 'd'],
  ] as const)
    await releases.store(key, release(revision, images))
  const former = (revision: number) => releases.former(key, revision)?.revision
  expect([1, 2, 3, 4, 5].map(former)).toEqual([undefined, 1, 2, 2, 4])
  // A number without a file differs from each, and is after those before it.
  expect([6, 0].map(former)).toEqual([5, undefined])
  expect(releases.former(other, 5)).toBeUndefined()
})

it('one release and its former one are left, the files of all others are removed', async () => {
  for (const [at, images] of ['a', 'b', 'b', 'c'].entries())
    await releases.store(key, release(at + 1, images))
  await releases.store(other, release(1, 'o'))
  await releases.keepOnly(key, 3)
  expect([filesOf(), digestsOf().toSorted()]).toEqual([
    ['1.json', '3.json'],
    [digestOf('a'), digestOf('b'), digestOf('o')],
  ])
  await releases.keepOnly(key, undefined)
  expect([filesOf(), filesOf(other), digestsOf()]).toEqual([[], ['1.json'], [digestOf('o')]])
  expect(existsSync(join(folder, folderOf(key)))).toBe(false)
  await releases.store(key, release(1, 'n'))
  expect(digestsOf()).toContain(digestOf('n'))
})

it('the releases of other apps are removed, and one alone is dropped', async () => {
  await releases.store(key, release(1, 'a'))
  await releases.store(key, release(2, 'b'))
  await releases.store(other, release(1, 'o'))
  mkdirSync(join(folder, 'unknown'))
  await releases.drop(releases.all().find(({ deployedAt, key: of }) => deployedAt === 1000 && of === key)!)
  expect([filesOf(), digestsOf()]).toEqual([['2.json'], [digestOf('b'), digestOf('o')]])
  await releases.keepApps([key])
  expect([readdirSync(folder), digestsOf()]).toEqual([[folderOf(key)], [digestOf('b')]])
})

it.each(['a1.json', '1.jsonx', '1234567890.json', 'x.json', '1'])(
  'a file named %s is no release',
  async (name) => {
    await releases.store(key, release(1, 'a'))
    renameSync(join(folder, folderOf(key), '1.json'), join(folder, folderOf(key), name))
    expect(open(key).all()).toEqual([])
  },
)

it('files with other numbers of members and containers, and damaged ones, are not there', async () => {
  const path = join(folder, folderOf(key), '12.json')
  await releases.store(key, release(12, 'ab'))
  const { containers, ...more } = release(12, 'ab')
  for (const text of ['', '{}', 'null', JSON.stringify({ ...more, containers: containers.slice(1) })]) {
    writeFileSync(path, text)
    expect([open(key).read(key, 12), open(key).all()]).toEqual([undefined, []])
  }
  writeFileSync(path, JSON.stringify({ ...more, containers }))
  expect(open(key).all()).toHaveLength(1)
})
